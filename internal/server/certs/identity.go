package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/cert"
)

// identity is what the server proves itself with and whom it believes: the files, which may change while it runs.
type identity struct {
	// certFile and keyFile are served to clients.
	certFile, keyFile string
	// clientCAFiles hold the authorities of client certificates.
	clientCAFiles []string
	// trustFile is what a client should trust to recognise the server.
	trustFile string
	// admin is the client certificate of the admin kubeconfig.
	admin *pair
}

// checkGivenFiles reads the certificates named by flags, before anything is written.
func (o *Options) checkGivenFiles() error {
	if o.Serving.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(o.Serving.CertFile, o.Serving.KeyFile); err != nil {
			return fmt.Errorf("--tls-cert-file %s with --tls-private-key-file %s: certificate is unreadable: %w",
				o.Serving.CertFile, o.Serving.KeyFile, err)
		}
	}
	if file := o.Authentication.ClientCAFile; file != "" {
		if _, err := readPool(file); err != nil {
			return fmt.Errorf("--client-ca-file %s: certificate is unreadable: %w", file, err)
		}
	}
	return nil
}

// newIdentity makes or renews the generated certificates and gathers what flags give instead.
func newIdentity(o *Options, dir *DataDir, now func() time.Time) (*identity, error) {
	keeper := pki{dir: dir, now: now}
	authority, err := keeper.authority()
	if err != nil {
		return nil, err
	}
	admin, err := keeper.leaf("admin", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "crd-server-admin", Organization: []string{user.SystemPrivilegedGroup}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return nil, err
	}
	id := &identity{admin: admin, clientCAFiles: []string{authority.certFile}}
	if file := o.Authentication.ClientCAFile; file != "" {
		id.clientCAFiles = append(id.clientCAFiles, file)
	}
	if o.Serving.CertFile != "" {
		id.certFile, id.keyFile, id.trustFile = o.Serving.CertFile, o.Serving.KeyFile, o.Serving.CertFile
		return id, nil
	}
	names, addresses := subjectAlternativeNames(&o.Serving)
	serving, err := keeper.leaf("serving", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "crd-server"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
		IPAddresses: addresses,
	}, authority)
	if err != nil {
		return nil, err
	}
	id.certFile, id.keyFile, id.trustFile = serving.certFile, serving.keyFile, authority.certFile
	return id, nil
}

// subjectAlternativeNames are the names and addresses by which clients may reach the server.
func subjectAlternativeNames(o *ServingOptions) (names []string, addresses []net.IP) {
	names = []string{"localhost"}
	addresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	add := func(ip net.IP) {
		if !ip.IsUnspecified() && !slices.ContainsFunc(addresses, ip.Equal) {
			addresses = append(addresses, ip)
		}
	}
	add(o.BindAddress)
	for _, san := range o.SANs {
		if ip := net.ParseIP(san); ip != nil {
			add(ip)
		} else if !slices.Contains(names, san) {
			names = append(names, san)
		}
	}
	return names, addresses
}

// readPool reads a PEM file of certificate authorities.
func readPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return cert.NewPoolFromBytes(pem)
}
