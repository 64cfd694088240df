package clusterapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// authority signs certificates of the webhooks.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte // the certificate as PEM
}

// pair is a certificate and its key as PEM.
type pair struct {
	serial           *big.Int
	certificate, key []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	template := certificateTemplate(t, name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a := &authority{certificate: template, key: newKey(t)}
	der := a.sign(t, template, a.key)
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.certificate, a.bundle = certificate, encodePEM("CERTIFICATE", der)
	return a
}

// issue issues a certificate for the service of the webhooks.
func (a *authority) issue(t *testing.T) pair {
	t.Helper()
	const name = service + "." + namespace + ".svc"
	template, key := certificateTemplate(t, name), newKey(t)
	template.DNSNames = []string{name}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		serial:      template.SerialNumber,
		certificate: encodePEM("CERTIFICATE", a.sign(t, template, key)),
		key:         encodePEM("EC PRIVATE KEY", der),
	}
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func certificateTemplate(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
