package aggregator

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// file has its certificate.
	file string
	dir  string
}

// issued is a certificate and its key, in files and as PEM.
type issued struct {
	certFile, keyFile string
	cert, key         []byte
}

// newAuthority makes an authority whose files are in a directory of the test.
func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t), dir: t.TempDir()}
	var err error
	if a.certificate, err = cert.NewSelfSignedCACert(cert.Config{CommonName: name}, a.key); err != nil {
		t.Fatal(err)
	}
	a.file = filepath.Join(a.dir, "ca.crt")
	write(t, a.file, a.pem())
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: a.certificate.Raw})
}

// client issues a client certificate for a user and groups.
func (a *authority) client(t *testing.T, name string, groups ...string) issued {
	return a.issue(t, name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// server issues a certificate for the names, and for loopback.
func (a *authority) server(t *testing.T, name string) issued {
	return a.issue(t, name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) issued {
	t.Helper()
	key := newKey(t)
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	i := issued{certFile: filepath.Join(a.dir, name+".crt"), keyFile: filepath.Join(a.dir, name+".key")}
	i.cert = pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	if i.key, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		t.Fatal(err)
	}
	write(t, i.certFile, i.cert)
	write(t, i.keyFile, i.key)
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
