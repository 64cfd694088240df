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

// clientOf returns the certificate of a client, and the authority that has signed it.
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

// believing returns the authority as a CA provider.
func believing(t testing.TB, authority *certs.Pair) *dynamiccertificates.DynamicFileCAContent {
	t.Helper()
	file, err := dynamiccertificates.NewDynamicCAContentFromFile("test", authority.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
