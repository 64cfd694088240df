//go:build !library && !race

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTextsThatTakeTooLong checks that a string that takes too long to match is refused with the field and the pattern.
func TestTextsThatTakeTooLong(t *testing.T) {
	handler := hostileServer(t)
	for _, test := range hostileMatches()[:2] {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, test.request(t.Context(), ""))
		body := w.Body.String()
		for _, want := range []string{
			`"reason":"Invalid"`, `"field":"text"`, "takes too long to match with the pattern '(a?){900}b'",
		} {
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
				t.Errorf("%s: %d, %.200s ... %s, want %s", test.name, w.Code, body, body[max(0, len(body)-300):], want)
			}
		}
	}
}
