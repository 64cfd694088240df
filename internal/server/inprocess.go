package server

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// inProcess carries requests to a handler without a network, as the server's own user. The answer is held in memory: it is
// not for watches.
type inProcess struct{ handler http.Handler }

// clientConfig makes a client of the server within the server. Requests are not limited: the caller bounds what it does.
func (p inProcess) clientConfig() *rest.Config {
	return &rest.Config{Host: "https://in-process", Transport: p, QPS: -1, UserAgent: "crd-server"}
}

// ownHandler is the server's handler for what is made before there is one: requests wait until it knows all resources.
type ownHandler struct {
	// lifecycle ends the wait, if the server ends before.
	lifecycle context.Context
	opened    chan struct{} // closed by open
	handler   http.Handler  // set before opened is closed
}

func newOwnHandler(lifecycle context.Context) *ownHandler {
	return &ownHandler{lifecycle: lifecycle, opened: make(chan struct{})}
}

// open serves what has waited, and everything from now on.
func (h *ownHandler) open(handler http.Handler) {
	h.handler = handler
	close(h.opened)
}

// ServeHTTP implements http.Handler.
func (h *ownHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case <-h.opened:
		h.handler.ServeHTTP(w, req)
	case <-h.lifecycle.Done():
		w.WriteHeader(http.StatusServiceUnavailable)
	case <-req.Context().Done():
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	served := req.Clone(asOwnRequest(req.Context()))
	served.RequestURI = req.URL.RequestURI()
	served.RemoteAddr = "in-process"
	if served.Body == nil {
		served.Body = http.NoBody
	}
	answer := &recorder{header: http.Header{}}
	p.handler.ServeHTTP(answer, served)
	if req.Body != nil {
		_ = req.Body.Close() // what was left of it is of no use to anybody
	}
	return answer.response(req), nil
}

// recorder is a response writer that keeps everything.
type recorder struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.sent = r.header.Clone()
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Flush has nothing to do; handlers that stream expect it.
func (r *recorder) Flush() { r.WriteHeader(http.StatusOK) }

func (r *recorder) response(req *http.Request) *http.Response {
	r.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        http.StatusText(r.status),
		StatusCode:    r.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        r.sent,
		Body:          io.NopCloser(&r.body),
		ContentLength: int64(r.body.Len()),
		Request:       req,
	}
}
