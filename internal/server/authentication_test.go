package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// countingCA counts how often the authorities are asked for, which is how often a chain is verified.
type countingCA struct {
	dynamiccertificates.CAContentProvider
	asked int
}

func (c *countingCA) VerifyOptions() (x509.VerifyOptions, bool) {
	c.asked++
	return c.CAContentProvider.VerifyOptions()
}

func requestWith(certificates ...*x509.Certificate) *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/apis", nil)
	req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	return req
}

func TestClientCertificatesAreRemembered(t *testing.T) {
	keeper := pki{dir: newDataDir(t), now: time.Now}
	jane, authority := clientOf(t, keeper, "jane", "dev")
	file := believing(t, authority)
	counted := &countingCA{CAContentProvider: file}
	certificates := newClientCertificates(counted)

	for range 3 {
		response, ok, err := certificates.AuthenticateRequest(requestWith(jane.cert))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if got := response.User; got.GetName() != "jane" || !slices.Equal(got.GetGroups(), []string{"dev", "system:authenticated"}) {
			t.Errorf("got %v", got)
		}
	}
	if counted.asked != 1 {
		t.Errorf("verified %d times", counted.asked)
	}
	// Another authority takes the place of the one that has signed the certificate.
	other, err := pki{dir: newDataDir(t), now: time.Now}.authority()
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(other.certFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, authority.certFile, string(pem))
	if err := file.RunOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := certificates.AuthenticateRequest(requestWith(jane.cert)); ok || err == nil {
		t.Error("still believed under other authorities")
	}
}

func TestClientCertificatesExpire(t *testing.T) {
	past := pki{dir: newDataDir(t), now: func() time.Time { return time.Now().Add(-2 * leafLifetime) }}
	old, authority := clientOf(t, past, "old")
	file := believing(t, authority)
	if _, ok, err := newClientCertificates(file).AuthenticateRequest(requestWith(old.cert)); ok || err == nil {
		t.Error("expired certificate was believed")
	}
	if got := earliestExpiry([]*x509.Certificate{authority.cert, old.cert}); !got.Equal(old.cert.NotAfter) {
		t.Errorf("got %v", got)
	}
}

func TestAnonymous(t *testing.T) {
	for _, test := range []struct {
		flag         cliflag.Tristate
		health, apis bool
	}{
		{cliflag.Unset, true, false},
		{cliflag.True, true, true},
		{cliflag.False, false, false},
	} {
		ca, err := pki{dir: newDataDir(t), now: time.Now}.authority()
		if err != nil {
			t.Fatal(err)
		}
		a := newAuthenticator(&AuthenticationOptions{Anonymous: test.flag}, believing(t, ca))
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

// TestOwnRequest makes sure that being the server itself cannot be claimed by a header.
func TestOwnRequest(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/apis", nil)
	req.Header.Set("X-Remote-User", ownUser.Name)
	if _, ok, _ := authenticateOwn(req); ok {
		t.Error("a request from outside passed for our own")
	}
	response, ok, err := authenticator.RequestFunc(authenticateOwn).AuthenticateRequest(req.WithContext(asOwnRequest(req.Context())))
	if err != nil || !ok || response.User.GetName() != ownUser.Name {
		t.Errorf("got %v %v %v", response, ok, err)
	}
}
