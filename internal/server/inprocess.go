package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// inProcess is a transport that passes requests to a handler in this process, as the server's own user. It buffers
// responses, so it is not for watches.
type inProcess struct{ handler http.Handler }

// clientConfig returns the configuration of a client of this server. It has no rate limit.
func (p inProcess) clientConfig() *rest.Config {
	return &rest.Config{Host: "https://in-process", Transport: p, QPS: -1, UserAgent: "crd-server"}
}

// ownHandler stands for the server's handler before that exists. Requests wait until the server knows all resources.
type ownHandler struct {
	// lifecycle ends the wait if the server ends before.
	lifecycle context.Context
	opened    chan struct{} // closed by open
	handler   http.Handler  // set before opened is closed
}

func newOwnHandler(lifecycle context.Context) *ownHandler {
	return &ownHandler{lifecycle: lifecycle, opened: make(chan struct{})}
}

// open passes waiting and future requests to the handler.
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
	err := p.serve(answer, served)
	if req.Body != nil {
		_ = req.Body.Close() // the rest of the body is not needed
	}
	if err != nil {
		return nil, err
	}
	return answer.response(req), nil
}

// serve calls the handler. A handler aborts its response by a panic, which must not reach the goroutine of a client: a
// server of net/http recovers it as well.
func (p inProcess) serve(w http.ResponseWriter, req *http.Request) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s %s: no response: %v", req.Method, req.URL.Path, reason)
		}
	}()
	p.handler.ServeHTTP(w, req)
	return nil
}

// recorder is a response writer that keeps the response.
type recorder struct {
	header http.Header
	sent   http.Header // the header when the status was written
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.sent = r.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Flush implements http.Flusher, which some handlers expect.
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
