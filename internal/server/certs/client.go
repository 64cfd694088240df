package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"path/filepath"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
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
	p.Key, err = readKey(p.KeyFile)
	return p, err
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

// AuthInfo returns the certificate and the key as a kubeconfig has them.
func (p *Pair) AuthInfo() (*clientcmdapi.AuthInfo, error) {
	certificate, err := cert.EncodeCertificates(p.Cert)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate: %w", err)
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encode the private key: %w", err)
	}
	return &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}, nil
}
