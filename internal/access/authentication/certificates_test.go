package authentication

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
)

// authority signs certificates of clients.
type authority struct {
	t    testing.TB
	file string // is the path of the certificate in PEM
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: t.Name()}, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, file: filepath.Join(t.TempDir(), "ca.crt"), key: key, cert: made}
	a.writeTo(a.file)
	return a
}

func (a *authority) writeTo(file string) {
	a.t.Helper()
	encoded, err := cert.EncodeCertificates(a.cert)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// client returns a certificate that is valid for two years and expires at that time.
func (a *authority) client(until time.Time, name string, groups ...string) *x509.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    until.AddDate(-2, 0, 0),
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.cert, newKey(a.t).Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return made
}

func (a *authority) provider() *dynamiccertificates.DynamicFileCAContent {
	a.t.Helper()
	provider, err := dynamiccertificates.NewDynamicCAContentFromFile("test", a.file)
	if err != nil {
		a.t.Fatal(err)
	}
	return provider
}

func requestWith(certificates ...*x509.Certificate) *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/apis", nil)
	req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	return req
}

// countingCA counts the reads of the authorities, which is the number of verified chains.
type countingCA struct {
	dynamiccertificates.CAContentProvider
	asked int
}

func (c *countingCA) VerifyOptions() (x509.VerifyOptions, bool) {
	c.asked++
	return c.CAContentProvider.VerifyOptions()
}

func soon() time.Time { return time.Now().Add(30 * time.Minute) }

func TestClientCertificatesAreCached(t *testing.T) {
	signed := newAuthority(t)
	jane := signed.client(soon(), "jane", "dev")
	file := signed.provider()
	counted := &countingCA{CAContentProvider: file}
	certificates := newCertificates(counted, nil)

	for range 3 {
		response, ok, err := certificates.AuthenticateRequest(requestWith(jane))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if got := response.User; got.GetName() != "jane" ||
			!slices.Equal(got.GetGroups(), []string{"dev", "system:authenticated"}) {
			t.Errorf("got %v", got)
		}
	}
	if counted.asked != 1 {
		t.Errorf("verified %d times", counted.asked)
	}
	// Another authority replaces the one that has signed the certificate.
	newAuthority(t).writeTo(signed.file)
	if err := file.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := certificates.AuthenticateRequest(requestWith(jane)); ok || err == nil {
		t.Error("the certificate was accepted under another authority")
	}
}

func TestClientCertificatesExpire(t *testing.T) {
	signed := newAuthority(t)
	old := signed.client(time.Now().Add(-time.Minute), "old")
	if _, ok, err := newCertificates(signed.provider(), nil).AuthenticateRequest(requestWith(old)); ok || err == nil {
		t.Error("an expired certificate was accepted")
	}
	if got := earliestExpiry([]*x509.Certificate{signed.cert, old}); !got.Equal(old.NotAfter) {
		t.Errorf("got %v", got)
	}
}

func TestAnonymous(t *testing.T) {
	for _, test := range []struct {
		flag         cliflag.Tristate
		byDefault    bool
		health, apis bool
	}{
		{cliflag.Unset, false, true, false},
		{cliflag.Unset, true, true, true},
		{cliflag.True, false, true, true},
		{cliflag.False, false, false, false},
		{cliflag.False, true, false, false},
	} {
		o := NewOptions()
		o.Anonymous, o.AnonymousByDefault = test.flag, test.byDefault
		a, err := New(t.Context(), Config{Options: &o, ClientCAs: newAuthority(t).provider(),
			AnonymousPaths: []string{"/readyz"}})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"/readyz": test.health, "/apis": test.apis} {
			response, ok, err := a.AuthenticateRequest(httptest.NewRequest(http.MethodGet, path, nil))
			if err != nil || ok != want {
				t.Errorf("%v %s: got %v %v", test.flag, path, ok, err)
			}
			if ok && response.User.GetName() != "system:anonymous" {
				t.Errorf("got user %v", response.User)
			}
		}
	}
}
