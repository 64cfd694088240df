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
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	leafLifetime      = 365 * 24 * time.Hour
	// clockSkew lets clients whose clock is a little behind accept a new certificate.
	clockSkew = 5 * time.Minute
)

// Issuer signs certificates and keeps them in the data directory, a key and a certificate for each name. A key is
// never replaced. Its certificate is signed again if it is missing, due for renewal, or different from the template.
type Issuer struct {
	Dir *datadir.Dir
	Now func() time.Time
}

// Pair is a certificate with its key, and the files that hold them.
type Pair struct {
	Cert              *x509.Certificate
	Key               crypto.Signer
	CertFile, KeyFile string
}

// Authority returns the certificate authority, and creates it on the first call.
func (p Issuer) Authority() (*Pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "crd-server-ca"},
		NotAfter:              p.Now().Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return p.obtain("ca", template, nil)
}

// Leaf returns the named certificate, which matches the template and is signed by the authority.
func (p Issuer) Leaf(name string, template *x509.Certificate, authority *Pair) (*Pair, error) {
	template.NotAfter = p.Now().Add(leafLifetime)
	if template.NotAfter.After(authority.Cert.NotAfter) || p.Dir.IsTemporary() { // temporary ones are not renewed
		template.NotAfter = authority.Cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return p.obtain(name, template, authority)
}

// obtain loads the named pair, or signs its certificate. Without an authority the certificate is self-signed.
func (p Issuer) obtain(name string, template *x509.Certificate, authority *Pair) (*Pair, error) {
	key, err := p.key(name)
	if err != nil {
		return nil, err
	}
	found := &Pair{Key: key, CertFile: p.Dir.Path("pki", name+".crt"), KeyFile: p.Dir.Path("pki", name+".key")}
	if authority == nil {
		authority = found
	}
	found.Cert, err = ReadCertificate(found.CertFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("certificate %s is unreadable (remove it to have a new one made): %w", found.CertFile,
			datadir.Cause(err))
	}
	if err == nil && p.fits(found, template, authority) {
		return found, nil
	}
	if authority == found {
		found.Cert = template // self-signed: the template is its own parent
	}
	template.NotBefore = p.Now().Add(-clockSkew)
	signed, err := authority.Sign(template, key.Public())
	if err != nil {
		return nil, fmt.Errorf("sign certificate %s: %w", name, err)
	}
	found.Cert = signed
	pem, err := cert.EncodeCertificates(signed)
	if err != nil {
		return nil, fmt.Errorf("encode certificate %s: %w", name, err)
	}
	return found, p.Dir.Write(pem, "pki", name+".crt")
}

// ServiceAccountKey returns the private key that signs tokens of service accounts, and creates it on the first call.
func ServiceAccountKey(dir *datadir.Dir) (crypto.Signer, error) {
	return Issuer{Dir: dir}.key("service-account")
}

// key returns the named private key, and creates it on the first call.
func (p Issuer) key(name string) (crypto.Signer, error) {
	key, err := readKey(p.Dir.Path("pki", name+".key"))
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("generate private key %s: %w", name, err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key %s: %w", name, err)
	}
	return key, p.Dir.Write(pem, "pki", name+".key")
}

// readKey reads a private key.
func readKey(file string) (crypto.Signer, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("private key %s is unreadable: %w", file, datadir.Cause(err))
	}
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	signer, ok := key.(crypto.Signer)
	if err == nil && !ok {
		err = errors.New("not a signing key")
	}
	if err != nil {
		return nil, fmt.Errorf("private key %s is unreadable: %w", file, err)
	}
	return signer, nil
}

// fits reports whether a certificate on disk can stay in use: it belongs to the key and the authority, matches want,
// and a third of its lifetime is left.
func (p Issuer) fits(found *Pair, want *x509.Certificate, authority *Pair) bool {
	has := found.Cert
	renewal := has.NotAfter.Add(-has.NotAfter.Sub(has.NotBefore) / 3)
	public, ok := found.Key.Public().(*ecdsa.PublicKey)
	return ok && public.Equal(has.PublicKey) &&
		has.CheckSignatureFrom(authority.Cert) == nil &&
		p.Now().After(has.NotBefore) && p.Now().Before(renewal) &&
		has.Subject.CommonName == want.Subject.CommonName &&
		slices.Equal(has.Subject.Organization, want.Subject.Organization) &&
		slices.Equal(has.DNSNames, want.DNSNames) &&
		slices.EqualFunc(has.IPAddresses, want.IPAddresses, net.IP.Equal) &&
		slices.Equal(has.ExtKeyUsage, want.ExtKeyUsage)
}

// Sign signs a certificate of a public key. It sets the serial number of the template.
func (p *Pair) Sign(template *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, p.Cert, key, p.Key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// ReadCertificate returns the first certificate of a PEM file.
func ReadCertificate(file string) (*x509.Certificate, error) {
	certificates, err := cert.CertsFromFile(file)
	if err != nil {
		return nil, err
	}
	return certificates[0], nil
}
