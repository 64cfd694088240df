package server

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
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	leafLifetime      = 365 * 24 * time.Hour
	// clockSkew lets clients whose clock is a little behind accept a new certificate.
	clockSkew = 5 * time.Minute
)

// pki makes and keeps certificates in the data directory, a key and a certificate for each name. A key stays; its
// certificate is signed anew when it is missing, due or no longer what is wanted, so that the two always fit.
type pki struct {
	dir *DataDir
	now func() time.Time
}

// pair is a certificate, its key, and where they are.
type pair struct {
	cert              *x509.Certificate
	key               crypto.Signer
	certFile, keyFile string
}

// authority returns the certificate authority; the first time it makes one.
func (p pki) authority() (*pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "crd-server-ca"},
		NotAfter:              p.now().Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return p.obtain("ca", template, nil)
}

// leaf returns the named certificate as the template wants it, signed by the authority.
func (p pki) leaf(name string, template *x509.Certificate, authority *pair) (*pair, error) {
	template.NotAfter = p.now().Add(leafLifetime)
	if template.NotAfter.After(authority.cert.NotAfter) {
		template.NotAfter = authority.cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return p.obtain(name, template, authority)
}

// obtain loads the named pair, or signs its certificate. Without an authority it signs itself.
func (p pki) obtain(name string, template *x509.Certificate, authority *pair) (*pair, error) {
	key, err := p.key(name)
	if err != nil {
		return nil, err
	}
	found := &pair{key: key, certFile: p.dir.Path("pki", name+".crt"), keyFile: p.dir.Path("pki", name+".key")}
	if authority == nil {
		authority = found
	}
	found.cert, err = readCertificate(found.certFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("certificate %s is unreadable (remove it to have a new one made): %w", found.certFile, cause(err))
	}
	if err == nil && p.fits(found, template, authority) {
		return found, nil
	}
	if authority == found {
		found.cert = template // signs itself: its own template is the parent
	}
	signed, err := p.sign(template, key, authority)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %s: %w", name, err)
	}
	found.cert = signed
	pem, err := cert.EncodeCertificates(signed)
	if err != nil {
		return nil, fmt.Errorf("encode certificate %s: %w", name, err)
	}
	return found, p.dir.Write(pem, "pki", name+".crt")
}

// key returns the named private key; the first time it makes one.
func (p pki) key(name string) (crypto.Signer, error) {
	file := p.dir.Path("pki", name+".key")
	loaded, err := keyutil.PrivateKeyFromFile(file)
	if err == nil {
		if signer, ok := loaded.(crypto.Signer); ok {
			return signer, nil
		}
		err = errors.New("not a signing key")
	}
	if _, statErr := os.Stat(file); !errors.Is(statErr, os.ErrNotExist) {
		return nil, fmt.Errorf("private key %s is unreadable: %w", file, cause(err))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate private key %s: %w", name, err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key %s: %w", name, err)
	}
	return key, p.dir.Write(pem, "pki", name+".key")
}

// fits tells whether a certificate on disk can be used on: it is ours, says what is wanted, and a third of its life is left.
func (p pki) fits(found *pair, want *x509.Certificate, authority *pair) bool {
	has := found.cert
	renewal := has.NotAfter.Add(-has.NotAfter.Sub(has.NotBefore) / 3)
	public, ok := found.key.Public().(*ecdsa.PublicKey)
	return ok && public.Equal(has.PublicKey) &&
		has.CheckSignatureFrom(authority.cert) == nil &&
		p.now().After(has.NotBefore) && p.now().Before(renewal) &&
		has.Subject.CommonName == want.Subject.CommonName &&
		slices.Equal(has.Subject.Organization, want.Subject.Organization) &&
		slices.Equal(has.DNSNames, want.DNSNames) &&
		slices.EqualFunc(has.IPAddresses, want.IPAddresses, net.IP.Equal) &&
		slices.Equal(has.ExtKeyUsage, want.ExtKeyUsage)
}

func (p pki) sign(template *x509.Certificate, key crypto.Signer, authority *pair) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = p.now().Add(-clockSkew)
	der, err := x509.CreateCertificate(rand.Reader, template, authority.cert, key.Public(), authority.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// readCertificate returns the first certificate of a PEM file.
func readCertificate(file string) (*x509.Certificate, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	certificates, err := cert.ParseCertsPEM(pem)
	if err != nil {
		return nil, err
	}
	return certificates[0], nil
}
