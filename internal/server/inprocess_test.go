package server

import (
	"context"
	"errors"
	"io"
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

// TestStreamInProcess checks that a response arrives while the handler writes it, that closing its body ends the
// request, and that the handler does not see the values of the client's context.
func TestStreamInProcess(t *testing.T) {
	t.Parallel()
	type key struct{}
	ended := make(chan struct{})
	transport := inProcess{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(ended)
		if req.Context().Value(key{}) != nil || req.Context().Value(ownRequest{}) == nil {
			t.Error("the context is that of the client")
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "first")
		<-req.Context().Done()
	})}
	req := httptest.NewRequest("GET", "/apis/x?watch=true", nil)
	resp, err := transport.RoundTrip(req.WithContext(context.WithValue(t.Context(), key{}, "value")))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Errorf("read %q, %v", first, err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("status %d, header %v", resp.StatusCode, resp.Header)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestCancelInProcess checks that the end of the client's context ends a watch and its body, also before the response
// has begun.
func TestCancelInProcess(t *testing.T) {
	t.Parallel()
	for _, begins := range []bool{true, false} {
		ended := make(chan struct{})
		serving := make(chan struct{})
		transport := inProcess{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			defer close(ended)
			if begins {
				w.WriteHeader(http.StatusTeapot)
			}
			close(serving)
			<-req.Context().Done()
		})}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-serving; cancel() }()
		resp, err := transport.RoundTrip(httptest.NewRequest("GET", "/x?watch=true", nil).WithContext(ctx))
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			t.Error(err)
		case err == nil:
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
				t.Errorf("the body ends with %v", err)
			}
			_ = resp.Body.Close()
		}
		<-ended
	}
}

// TestCompleteInProcess checks that a request is served to its end although its client has gone.
func TestCompleteInProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	answered, ended := make(chan struct{}), make(chan error, 1)
	transport := inProcess{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		cancel()
		<-answered
		_, err := w.Write(make([]byte, 1<<20))
		ended <- errors.Join(err, req.Context().Err())
	})}
	_, err := transport.RoundTrip(httptest.NewRequest("POST", "/x", nil).WithContext(ctx))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(answered)
	if err := <-ended; err != nil {
		t.Errorf("the handler sees that the client has gone: %v", err)
	}
}
