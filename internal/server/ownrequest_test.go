package server

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

func requestWith(certificates ...*x509.Certificate) *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/apis", nil)
	req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	return req
}

// TestOwnRequest checks that a client cannot become the server's own user by a header.
func TestOwnRequest(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodGet, "/apis", nil)
	req.Header.Set("X-Remote-User", ownUser.Name)
	if _, ok, _ := ownRequests(req); ok {
		t.Error("a request with a header was authenticated as the server's own")
	}
	response, ok, err := ownRequests.AuthenticateRequest(req.WithContext(asOwnRequest(req.Context())))
	if err != nil || !ok || response.User.GetName() != ownUser.Name {
		t.Errorf("got %v %v %v", response, ok, err)
	}
}
