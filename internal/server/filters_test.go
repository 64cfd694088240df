package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/warning"
)

// TestFilters checks the effect of each filter on responses.
func TestFilters(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.Contains(req.URL.Path, "/panics/"):
			panic("on purpose")
		case strings.Contains(req.URL.Path, "/sleepers/"):
			<-req.Context().Done()
		}
		warning.AddWarning(req.Context(), "", "careful")
		fmt.Fprint(w, req.Proto)
	}), func(o *Options) {
		o.Serving.CORSOrigins = []string{"//example\\.com$"}
		o.Serving.HSTSDirectives = []string{"max-age=31536000", "preload"}
		o.Serving.GoawayChance = 0.02
	})
	client, url := s.as("root", "system:masters")
	path := url + "/apis/example.com/v1/namespaces/default/"

	t.Run("headers", func(t *testing.T) {
		got := do(t, client, "GET", path+"crontabs/one")
		for header, want := range map[string]string{
			"Strict-Transport-Security": "max-age=31536000; preload",
			"Cache-Control":             "no-cache, private",
			"Warning":                   `299 - "careful"`,
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s: got %q", header, got.header.Get(header))
			}
		}
		if got.body != "HTTP/2.0" {
			t.Errorf("protocol %s, want HTTP/2.0", got.body)
		}
	})
	t.Run("CORS", func(t *testing.T) {
		got := do(t, client, "OPTIONS", path+"crontabs/one", "Origin", "https://example.com")
		if got.code != http.StatusNoContent || got.header.Get("Access-Control-Allow-Origin") != "https://example.com" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("panic", func(t *testing.T) {
		if _, err := client.Get(path + "panics/one"); err == nil {
			t.Error("a panic got a response") // kube-apiserver resets the stream
		}
		if got := do(t, client, "GET", path+"crontabs/one"); got.code != http.StatusOK {
			t.Errorf("after the panic: status %d", got.code)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		got := do(t, client, "GET", path+"sleepers/one?timeout=50ms")
		if got.code != http.StatusGatewayTimeout || !strings.Contains(got.body, `"reason":"Timeout"`) {
			t.Errorf("got %d %s", got.code, got.body)
		}
		if got := do(t, client, "GET", path+"crontabs/one?timeout=soon"); got.code != http.StatusBadRequest ||
			got.status(t).Code != http.StatusBadRequest {
			t.Errorf("got %d %s", got.code, got.body)
		}
	})
	t.Run("impersonation", func(t *testing.T) {
		if got := do(t, client, "GET", path+"crontabs/one", "Impersonate-User", "jane"); got.code != http.StatusForbidden {
			t.Errorf("got %d", got.code)
		}
	})
}
