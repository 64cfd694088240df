package certs

import (
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// Protocol restricts TLS, in the words of kube-apiserver's flags. What an empty field leaves open, crypto/tls chooses.
type Protocol struct {
	// MinVersion is the lowest version of TLS, such as VersionTLS12.
	MinVersion string
	// CipherSuites are the suites for TLS up to 1.2, Curves the key exchanges, by their numbers in crypto/tls.
	CipherSuites []string
	Curves       []int32
}

// Validate returns every mistake.
func (p *Protocol) Validate() (errs []error) {
	if err := p.apply(&tls.Config{}); err != nil {
		return []error{err}
	}
	return nil
}

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

// named returns the certificates for certain names, which are watched.
func (c *Config) named() (contents []dynamiccertificates.SNICertKeyContentProvider, err error) {
	for _, pair := range c.Named {
		content, err := dynamiccertificates.NewDynamicSNIContentFromFiles(
			"sni-cert", pair.CertFile, pair.KeyFile, pair.Names...)
		if err != nil {
			return nil, fmt.Errorf("--tls-sni-cert-key %s: certificate is unreadable: %w", pair.CertFile, datadir.Cause(err))
		}
		contents = append(contents, content)
	}
	return contents, nil
}
