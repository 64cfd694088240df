package certs

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/users"
)

// Config holds what flags say about certificates.
type Config struct {
	// BindAddress is where the server listens, which the generated serving certificate names.
	BindAddress net.IP
	// SANs are names and addresses added to the generated serving certificate.
	SANs []string
	// CertFile and KeyFile replace the generated serving certificate.
	CertFile, KeyFile string
	// Named are certificates for certain names, which clients ask for (SNI).
	Named []cliflag.NamedCertKey
	// ClientCAFile holds further authorities of client certificates.
	ClientCAFile string
	// Protocol restricts TLS.
	Protocol Protocol
}

// Identity names the files with the server's certificates and authorities. Their content may change while the server
// runs.
type Identity struct {
	// CertFile and KeyFile are the serving certificate.
	CertFile, KeyFile string
	// ClientCAFiles hold the authorities of client certificates.
	ClientCAFiles []string
	// TrustFile holds the authority by which clients recognise the server.
	TrustFile string
	// Admin is the client certificate of the admin kubeconfig.
	Admin *Pair
	// fixed are the generated files if they never change, because they are in a temporary directory.
	fixed []string
}

// IsFixed reports whether a file never changes.
func (id *Identity) IsFixed(file string) bool { return slices.Contains(id.fixed, file) }

// CheckFiles reads the certificates that flags name. It writes nothing.
func (c *Config) CheckFiles() error {
	if c.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile); err != nil {
			return fmt.Errorf("--tls-cert-file %s with --tls-private-key-file %s: certificate is unreadable: %w", c.CertFile,
				c.KeyFile, err)
		}
	}
	for _, pair := range c.Named {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			return fmt.Errorf("--tls-sni-cert-key %s,%s: certificate is unreadable: %w", pair.CertFile, pair.KeyFile, err)
		}
	}
	if file := c.ClientCAFile; file != "" {
		if _, err := cert.NewPool(file); err != nil {
			return fmt.Errorf("--client-ca-file %s: certificate is unreadable: %w", file, err)
		}
	}
	return nil
}

// NewIdentity creates or renews the generated certificates. Files given by flags take their place.
func NewIdentity(c *Config, dir *datadir.Dir, now func() time.Time) (*Identity, error) {
	issuer := Issuer{Dir: dir, Now: now}
	authority, err := issuer.Authority()
	if err != nil {
		return nil, err
	}
	admin, err := issuer.Leaf("admin", &x509.Certificate{
		Subject:     pkix.Name{CommonName: users.Admin, Organization: []string{user.SystemPrivilegedGroup}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return nil, err
	}
	id := &Identity{Admin: admin, ClientCAFiles: []string{authority.CertFile}}
	if dir.IsTemporary() {
		id.fixed = []string{authority.CertFile, dir.Path("pki", "serving.crt")}
	}
	if file := c.ClientCAFile; file != "" {
		id.ClientCAFiles = append(id.ClientCAFiles, file)
	}
	if c.CertFile != "" {
		id.CertFile, id.KeyFile, id.TrustFile = c.CertFile, c.KeyFile, c.CertFile
		return id, nil
	}
	names, addresses := c.subjectAlternativeNames()
	serving, err := issuer.Leaf("serving", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "crd-server"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
		IPAddresses: addresses,
	}, authority)
	if err != nil {
		return nil, err
	}
	id.CertFile, id.KeyFile, id.TrustFile = serving.CertFile, serving.KeyFile, authority.CertFile
	return id, nil
}

// subjectAlternativeNames returns the names and addresses by which clients may reach the server.
func (c *Config) subjectAlternativeNames() (names []string, addresses []net.IP) {
	names = []string{"localhost"}
	addresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	add := func(ip net.IP) {
		if !ip.IsUnspecified() && !slices.ContainsFunc(addresses, ip.Equal) {
			addresses = append(addresses, ip)
		}
	}
	add(c.BindAddress)
	for _, san := range c.SANs {
		if ip := net.ParseIP(san); ip != nil {
			add(ip)
		} else if !slices.Contains(names, san) {
			names = append(names, san)
		}
	}
	return names, addresses
}
