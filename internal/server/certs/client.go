package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// ReadAuthority reads the generated authority of a data directory, which a server may have in use.
func ReadAuthority(dataDir string) (*Pair, error) {
	p := &Pair{CertFile: filepath.Join(dataDir, "pki", "ca.crt"), KeyFile: filepath.Join(dataDir, "pki", "ca.key")}
	var err error
	if p.Cert, err = ReadCertificate(p.CertFile); err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", p.CertFile, datadir.Cause(err))
	}
	pem, err := os.ReadFile(p.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("private key %s is unreadable: %w", p.KeyFile, datadir.Cause(err))
	}
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("private key %s is unreadable: %w", p.KeyFile, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private key %s: %w", p.KeyFile, errors.New("not a signing key"))
	}
	p.Key = signer
	return p, nil
}

// Client returns a new key with a client certificate of a user, which is valid from now on.
func (p *Pair) Client(user pkix.Name, now, expires time.Time) (*Pair, error) {
	if expires.After(p.Cert.NotAfter) {
		return nil, fmt.Errorf("the authority %s expires before, on %s", p.CertFile, p.Cert.NotAfter.Format(time.DateOnly))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a private key: %w", err)
	}
	signed, err := p.Sign(&x509.Certificate{
		Subject:     user,
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    expires,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, key.Public())
	if err != nil {
		return nil, fmt.Errorf("sign a certificate of user %q: %w", user.CommonName, err)
	}
	return &Pair{Cert: signed, Key: key}, nil
}
