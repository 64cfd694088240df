package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAbortedInProcess checks that a handler that aborts its response fails the request, and nothing else.
func TestAbortedInProcess(t *testing.T) {
	t.Parallel()
	client := inProcess{http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}
	req := httptest.NewRequest("DELETE", "/apis/x", strings.NewReader("{}"))
	resp, err := client.RoundTrip(req)
	if err == nil || !strings.Contains(err.Error(), "DELETE /apis/x: no response: net/http: abort Handler") {
		t.Error(resp, err)
	}
}
