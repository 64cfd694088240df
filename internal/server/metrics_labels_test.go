package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestLabelsOfUnknownPaths checks that unknown names in a request do not become labels of metrics, whether the request
// ends before or after its deadline.
func TestLabelsOfUnknownPaths(t *testing.T) {
	t.Parallel()
	handler, _ := assembled(t)
	served(t, handler, "POST", definitionsPath, fuzzDefinition)
	const word = "unheardof"
	late := 0 // a response may come before the deadline
	for _, path := range []string{
		"/" + word, "/" + word + "\x8f", "/healthz/" + word, "/openapi/v3/apis/" + word, "/apis/" + word,
		"/apis/" + word + "\x8f/v1/things", "/apis/" + word + ".example.com/v1/things",
		"/apis/fuzz.example.com/" + word + "/things", "/apis/fuzz.example.com/v1/" + word, fuzzThing + "/" + word,
		"/api/v1/" + word,
		"/apis/authorization.k8s.io/v1/" + word, definitionsPath + "/x/" + word,
	} {
		for _, query := range []string{"", "timeout=1ns"} {
			req := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(asOwnRequest(t.Context()))
			req.URL = &url.URL{Path: path, RawQuery: query}
			w := httptest.NewRecorder()
			aborted := serveOrAbort(t, handler, w, req)
			if w.Code == http.StatusInternalServerError {
				t.Errorf("%q?%s: %d %.200s", path, query, w.Code, w.Body)
			}
			if aborted || w.Code == http.StatusGatewayTimeout {
				late++
			}
		}
	}
	if late == 0 {
		t.Error("no request missed its deadline")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(asOwnRequest(t.Context())))
	if all := w.Body.String(); w.Code != http.StatusOK || strings.Contains(all, word) {
		at := strings.Index(all, word)
		t.Errorf("an unknown name is a label: %.200s", all[max(0, at-200):])
	}
}
