package server

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// identityAt makes the certificates in dir as a server that starts at the time would.
func identityAt(t *testing.T, dir *DataDir, at time.Time, change func(*Options)) *identity {
	t.Helper()
	o := NewOptions()
	if change != nil {
		change(o)
	}
	id, err := newIdentity(o, dir, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newDataDir(t *testing.T) *DataDir {
	t.Helper()
	dir, err := openDataDir(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// clientOf returns the certificate of a client, and the authority that has signed it.
func clientOf(t testing.TB, keeper pki, name string, groups ...string) (client, authority *pair) {
	t.Helper()
	authority, err := keeper.authority()
	if err != nil {
		t.Fatal(err)
	}
	client, err = keeper.leaf("test-"+name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		t.Fatal(err)
	}
	return client, authority
}

// believing has clients believed that an authority has signed.
func believing(t testing.TB, authority *pair) *dynamiccertificates.DynamicFileCAContent {
	t.Helper()
	file, err := dynamiccertificates.NewDynamicCAContentFromFile("test", authority.certFile)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func certificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	c, err := readCertificate(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificatesAreRenewedWhenDue(t *testing.T) {
	begin := time.Now()
	for _, test := range []struct {
		name    string
		after   time.Duration
		change  func(*Options)
		damage  func(dir *DataDir) error
		serving bool // renewed
		admin   bool // renewed
		ca      bool // renewed
	}{
		{name: "next day", after: 24 * time.Hour},
		{name: "seven months later", after: 7 * 30 * 24 * time.Hour},
		{name: "nine months later", after: 9 * 30 * 24 * time.Hour, serving: true, admin: true},
		{name: "nine years later", after: 9 * 365 * 24 * time.Hour, serving: true, admin: true, ca: true},
		{name: "clock set back", after: -24 * time.Hour, serving: true, admin: true, ca: true},
		{name: "another name", change: func(o *Options) { o.Serving.SANs = []string{"crds.example.com"} }, serving: true},
		{name: "another address", change: func(o *Options) { o.Serving.BindAddress = net.IPv4(10, 1, 2, 3) }, serving: true},
		{name: "certificate lost", damage: func(d *DataDir) error { return os.Remove(d.Path("pki", "admin.crt")) }, admin: true},
		{name: "key lost", damage: func(d *DataDir) error { return os.Remove(d.Path("pki", "admin.key")) }, admin: true},
		{name: "authority lost", damage: func(d *DataDir) error { return os.Remove(d.Path("pki", "ca.key")) }, serving: true, admin: true, ca: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := newDataDir(t)
			identityAt(t, dir, begin, nil)
			files := []string{dir.Path("pki", "serving.crt"), dir.Path("pki", "admin.crt"), dir.Path("pki", "ca.crt")}
			var before []*x509.Certificate
			for _, file := range files {
				before = append(before, certificate(t, file))
			}
			if test.damage != nil {
				if err := test.damage(dir); err != nil {
					t.Fatal(err)
				}
			}
			id := identityAt(t, dir, begin.Add(test.after), test.change)
			for i, want := range []bool{test.serving, test.admin, test.ca} {
				if got := !certificate(t, files[i]).Equal(before[i]); got != want {
					t.Errorf("%s renewed: %v", filepath.Base(files[i]), got)
				}
			}
			roots := x509.NewCertPool()
			roots.AddCert(certificate(t, id.trustFile))
			at := begin.Add(test.after)
			if _, err := certificate(t, id.certFile).Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost", CurrentTime: at}); err != nil {
				t.Errorf("serving certificate: %v", err)
			}
			usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			if _, err := id.admin.cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usage, CurrentTime: at}); err != nil {
				t.Errorf("admin certificate: %v", err)
			}
		})
	}
}

func TestUnreadableCertificateIsNamed(t *testing.T) {
	for _, name := range []string{"ca.crt", "ca.key", "serving.crt", "admin.key"} {
		t.Run(name, func(t *testing.T) {
			dir := newDataDir(t)
			identityAt(t, dir, time.Now(), nil)
			write(t, dir.Path("pki", name), "garbage")
			_, err := newIdentity(NewOptions(), dir, time.Now)
			if err == nil {
				t.Fatal("no error")
			}
			if want := dir.Path("pki", name) + " is unreadable"; !contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		})
	}
}

func TestSubjectAlternativeNames(t *testing.T) {
	o := NewOptions().Serving
	o.BindAddress = net.IPv4zero
	o.SANs = []string{"crds.example.com", "localhost", "10.0.0.7", "127.0.0.1", "fd00::7"}
	names, addresses := subjectAlternativeNames(&o)
	if len(names) != 2 || names[1] != "crds.example.com" {
		t.Errorf("names %v", names)
	}
	if len(addresses) != 4 || !addresses[2].Equal(net.IPv4(10, 0, 0, 7)) || !addresses[3].Equal(net.ParseIP("fd00::7")) {
		t.Errorf("addresses %v", addresses)
	}
}

func TestWriteIsAllOrNothing(t *testing.T) {
	dir := newDataDir(t)
	if err := dir.Write([]byte("one"), "some", "file"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir.Path("some", "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.Write([]byte("two"), "some", "dir"); err == nil {
		t.Error("a file replaced a directory")
	}
	entries, err := os.ReadDir(dir.Path("some"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}
