package server

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// hostile sends requests to a whole server, which compares what it serves of an object with what it has stored.
type hostile struct{ handler http.Handler }

func newHostile(f *testing.F) hostile {
	handler, _ := assembled(f, func(o *Options) { o.Etcd.CheckViews = true })
	served(f, handler, "POST", definitionsPath, fuzzDefinition)
	return hostile{handler}
}

// call is a request.
type call struct {
	method, path, query string
	body                []byte
	header              map[string]string
	// lines are further lines of the header.
	lines http.Header
	// anonymous leaves out the credential; all other requests are allowed to do everything.
	anonymous bool
	// leave is the time after which the client ends the request, because a watch has no end; 0 means never.
	leave time.Duration
}

// send sends a request to the server. A response with 500 is an error, unless upstream's server responds in the same
// way (expected).
func (h hostile) send(t testing.TB, c call) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.leave > 0 {
		defer time.AfterFunc(c.leave, cancel).Stop()
	}
	if !c.anonymous {
		ctx = asOwnRequest(ctx)
	}
	ctx = klog.NewContext(ctx, inconsistencies(t))
	c.method = cmp.Or(c.method, http.MethodGet)
	req, err := http.NewRequestWithContext(ctx, c.method, "https://localhost/", bytes.NewReader(c.body))
	if err != nil {
		t.Skip("not a method")
	}
	req.ProtoMajor, req.ProtoMinor = 2, 0
	req.URL.Path, req.URL.RawQuery, req.RemoteAddr = c.path, c.query, "127.0.0.1:1"
	req.RequestURI = req.URL.RequestURI()
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	maps.Copy(req.Header, c.lines)
	w := httptest.NewRecorder()
	serveOrAbort(t, h.handler, watcher{w}, req)
	if answer := w.Body.String(); w.Code == http.StatusInternalServerError &&
		strings.HasPrefix(answer, "apiVersion: v1\n") && strings.Contains(answer, "message: 'yaml: ") {
		// The YAML library does not read all of JSON: it refuses control characters and keys of more than 1,024
		// characters. Upstream's server fails in the same way, so the request is repeated for a response in JSON.
		header := map[string]string{}
		maps.Copy(header, c.header)
		header["Accept"] = "application/json"
		c.header, c.lines = header, c.lines.Clone()
		c.lines.Del("Accept")
		return h.send(t, c)
	}
	if w.Code == http.StatusInternalServerError && ctx.Err() == nil && !expected(w.Body.String()) {
		t.Errorf("%s %s: %d %.2000s", c.method, req.RequestURI, w.Code, w.Body)
	}
	return w
}

// inconsistencies returns a logger that fails the test for a message about a view that differs from its stored value.
func inconsistencies(t testing.TB) logr.Logger {
	return funcr.New(func(_, message string) {
		if strings.Contains(message, "Cache inconsistent with etcd") {
			t.Error(message)
		}
	}, funcr.Options{})
}

// watcher is a recorder with the methods that handlers of watches need.
type watcher struct{ *httptest.ResponseRecorder }

// CloseNotify implements http.CloseNotifier, by which apiserver's wrappers recognise a connection. Nothing waits for
// it.
func (watcher) CloseNotify() <-chan bool { return nil }

// serveOrAbort serves a request. It reports whether the handler aborted the response, which the HTTP server allows.
func serveOrAbort(t testing.TB, handler http.Handler, w http.ResponseWriter, req *http.Request) (aborted bool) {
	defer func() {
		v := recover()
		if aborted = v == any(http.ErrAbortHandler); v != nil && !aborted {
			t.Fatalf("panic: %v", v)
		}
	}()
	handler.ServeHTTP(w, req)
	return false
}

// expected reports whether upstream's server gives a response with 500 as well.
func expected(answer string) bool {
	for _, part := range known500 {
		if strings.Contains(answer, part) {
			return true
		}
	}
	return false
}

// known500 are parts of responses with 500 that upstream's server gives as well.
var known500 = []string{
	"failed to create typed patch object", // the applied configuration does not match the schema
	// The converter of custom resources does not convert a Scale that is applied.
	"autoscaling/v1, Kind=Scale is unstructured and is not suitable for converting",
	"request to convert CR to an invalid group/version: autoscaling/v1",
}
