package certs

import (
	"crypto/tls"
	"fmt"

	cliflag "k8s.io/component-base/cli/flag"
)

// Protocol restricts TLS, in the words of kube-apiserver's flags. What an empty field leaves open, crypto/tls chooses.
type Protocol struct {
	// MinVersion is the lowest version of TLS, such as VersionTLS12.
	MinVersion string
	// CipherSuites are the suites for TLS up to 1.2, Curves the key exchanges, by their numbers in crypto/tls.
	CipherSuites []string
	Curves       []int32
}

// Validate returns the first mistake.
func (p *Protocol) Validate() error { return p.apply(&tls.Config{}) }

// apply sets what p says.
func (p *Protocol) apply(c *tls.Config) (err error) {
	if c.MinVersion, err = cliflag.TLSVersion(p.MinVersion); err != nil {
		return fmt.Errorf("--tls-min-version: %w", err)
	}
	if len(p.CipherSuites) > 0 {
		if c.CipherSuites, err = cliflag.TLSCipherSuites(p.CipherSuites); err != nil {
			return fmt.Errorf("--tls-cipher-suites: %w", err)
		}
	}
	if len(p.Curves) > 0 {
		if c.CurvePreferences, err = cliflag.TLSCurvePreferences(p.Curves); err != nil {
			return fmt.Errorf("--tls-curve-preferences: %w", err)
		}
	}
	return nil
}
