package server

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"path/filepath"
	"testing"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

func newDataDir(t testing.TB) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// clientOf issues the certificate of a client. It also returns the authority that has signed it.
func clientOf(t testing.TB, issuer certs.Issuer, name string, groups ...string) (client, authority *certs.Pair) {
	t.Helper()
	authority, err := issuer.Authority()
	if err != nil {
		t.Fatal(err)
	}
	client, err = issuer.Leaf("test-"+name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		t.Fatal(err)
	}
	return client, authority
}

// caProvider returns a CA provider with the authority.
func caProvider(t testing.TB, authority *certs.Pair) *dynamiccertificates.DynamicFileCAContent {
	t.Helper()
	file, err := dynamiccertificates.NewDynamicCAContentFromFile("test", authority.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
