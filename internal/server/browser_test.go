package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const (
	fromBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	fromFetch   = "*/*"
	// noTLS is net/http's response to a request without TLS.
	noTLS = "Client sent an HTTP request to an HTTPS server.\n"
)

// TestBrowser checks that a browser without a credential gets a text, and other clients get a Status.
func TestBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	nobody, url := s.as("")
	got := do(t, nobody, "GET", url+"/", "Accept", fromBrowser)
	if got.code != http.StatusUnauthorized || got.body != aboutServer ||
		got.header.Get("Content-Type") != "text/plain; charset=utf-8" || got.header.Get("Audit-Id") == "" {
		t.Errorf("a browser gets %d %v %q", got.code, got.header, got.body)
	}
	for _, other := range []struct{ method, path, accept string }{
		{"GET", "/", fromFetch}, {"GET", "/", "application/json, text/html"}, {"GET", "/", ""}, {"GET", "/apis", fromBrowser},
		{"POST", "/", fromBrowser},
	} {
		got := do(t, nobody, other.method, url+other.path, "Accept", other.accept)
		if got.code != http.StatusUnauthorized || got.status(t).Message != "Unauthorized" {
			t.Errorf("%v: %d %s", other, got.code, got.body)
		}
	}
	root, _ := s.as("root", "system:masters")
	if got := do(t, root, "GET", url+"/", "Accept", fromBrowser); got.code != http.StatusOK ||
		!strings.Contains(got.body, `"paths"`) {
		t.Errorf("a browser with a certificate gets %d %s", got.code, got.body)
	}
}

// TestPlainHTTP checks the response to requests without TLS.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	address := strings.TrimPrefix(s.admin().Host, "https://")
	for name, test := range map[string]struct{ request, want string }{
		"browser": {"GET / HTTP/1.1\r\nHost: x\r\nAccept: " + fromBrowser + "\r\n" +
			"X-Long: " + strings.Repeat("x", 3000) + "\r\n\r\n", aboutServer + aboutTLS},
		"other client": {"GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n", noTLS},
		"other method": {"POST / HTTP/1.1\r\nHost: x\r\n\r\n", noTLS},
	} {
		t.Run(name, func(t *testing.T) {
			connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := fmt.Fprint(connection, test.request); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusBadRequest || string(body) != test.want {
				t.Errorf("got %d %q, %v", response.StatusCode, body, err)
			}
		})
	}
	nobody, url := s.as("")
	if got := do(t, nobody, "GET", url+"/readyz"); got.code != http.StatusOK {
		t.Errorf("with TLS: %d", got.code)
	}
}
