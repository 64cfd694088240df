package certs

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// identityAt creates the certificates in dir as a server does that starts at that time.
func identityAt(t *testing.T, dir *datadir.Dir, at time.Time, change func(*Config)) *Identity {
	t.Helper()
	c := &Config{BindAddress: net.IPv4(127, 0, 0, 1)}
	if change != nil {
		change(c)
	}
	id, err := NewIdentity(c, dir, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newDataDir(t *testing.T) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func certificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	c, err := ReadCertificate(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificatesAreRenewedWhenDue(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	for _, test := range []struct {
		name    string
		after   time.Duration
		change  func(*Config)
		damage  func(dir *datadir.Dir) error
		serving bool // renewed
		admin   bool // renewed
		ca      bool // renewed
	}{
		{name: "next day", after: 24 * time.Hour},
		{name: "seven months later", after: 7 * 30 * 24 * time.Hour},
		{name: "nine months later", after: 9 * 30 * 24 * time.Hour, serving: true, admin: true},
		{name: "nine years later", after: 9 * 365 * 24 * time.Hour, serving: true, admin: true, ca: true},
		{name: "clock set back", after: -24 * time.Hour, serving: true, admin: true, ca: true},
		{name: "another name", change: func(c *Config) { c.SANs = []string{"crds.example.com"} }, serving: true},
		{name: "another address", change: func(c *Config) { c.BindAddress = net.IPv4(10, 1, 2, 3) }, serving: true},
		{name: "certificate lost", damage: func(d *datadir.Dir) error { return os.Remove(d.Path("pki", "admin.crt")) },
			admin: true},
		{name: "key lost", damage: func(d *datadir.Dir) error { return os.Remove(d.Path("pki", "admin.key")) }, admin: true},
		{name: "authority lost", damage: func(d *datadir.Dir) error { return os.Remove(d.Path("pki", "ca.key")) },
			serving: true, admin: true, ca: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
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
			roots.AddCert(certificate(t, id.TrustFile))
			at := begin.Add(test.after)
			if _, err := certificate(t, id.CertFile).Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost",
				CurrentTime: at}); err != nil {
				t.Errorf("serving certificate: %v", err)
			}
			usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			if _, err := id.Admin.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usage, CurrentTime: at}); err != nil {
				t.Errorf("admin certificate: %v", err)
			}
		})
	}
}

func TestUnreadableCertificateIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ca.crt", "ca.key", "serving.crt", "admin.key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDataDir(t)
			identityAt(t, dir, time.Now(), nil)
			if err := dir.Write([]byte("garbage"), "pki", name); err != nil {
				t.Fatal(err)
			}
			_, err := NewIdentity(&Config{}, dir, time.Now)
			if err == nil {
				t.Fatal("no error")
			}
			if want := dir.Path("pki", name) + " is unreadable"; !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		})
	}
}

func TestSubjectAlternativeNames(t *testing.T) {
	t.Parallel()
	c := Config{BindAddress: net.IPv4zero}
	c.SANs = []string{"crds.example.com", "localhost", "10.0.0.7", "127.0.0.1", "fd00::7"}
	names, addresses := c.subjectAlternativeNames()
	if len(names) != 2 || names[1] != "crds.example.com" {
		t.Errorf("names %v", names)
	}
	if len(addresses) != 4 || !addresses[2].Equal(net.IPv4(10, 0, 0, 7)) || !addresses[3].Equal(net.ParseIP("fd00::7")) {
		t.Errorf("addresses %v", addresses)
	}
}
