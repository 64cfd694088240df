package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// inProcess is a transport that passes requests to a handler in this process, as the server's own user. Responses are
// streamed, so it serves watches too. As with every transport, the client has to read or close the body.
type inProcess struct{ handler http.Handler }

// clientConfig returns the configuration of a client of this server. It has no rate limit.
func (p inProcess) clientConfig() *rest.Config {
	return &rest.Config{Host: "https://in-process", Transport: p, QPS: -1, UserAgent: "crd-server"}
}

// ownHandler is the handler that the server's own client talks to. It is made first, because nearly everything needs
// the client. Requests wait until the server knows all resources, and then go to its handler.
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

// RoundTrip implements http.RoundTripper. When the context of a request ends, the client gets its error at once. The
// handler serves the request to its end, which its deadline bounds: an aborted write would be logged as a failure, and
// could have happened all the same. The handler of a watch ends with the context.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	// The context has no values of the client's but the logger: a request that is made for another one must not have its
	// user, its audit event or its warnings.
	logging := klog.NewContext(context.Background(), klog.FromContext(req.Context()))
	ctx, cancel := context.WithCancel(asOwnRequest(logging))
	body, w := io.Pipe()
	answer := &streamedAnswer{header: http.Header{}, body: w, begun: make(chan struct{})}
	answer.response = &http.Response{
		ContentLength: -1, Body: &answerBody{PipeReader: body, cancel: cancel}, Request: req,
	}
	stop := func() bool { return true }
	if req.URL.Query().Get("watch") != "" {
		stop = context.AfterFunc(req.Context(), func() {
			_ = w.CloseWithError(context.Cause(req.Context())) // always returns nil
			cancel()
		})
	}
	go func() { // ends with the handler
		defer stop()
		err := p.serve(answer, ownRequestOf(ctx, req))
		if req.Body != nil {
			_ = req.Body.Close() // the rest of the body is not needed
		}
		answer.end(err)
		cancel()
	}()
	select {
	case <-answer.begun:
	case <-req.Context().Done():
		go func() { _, _ = io.Copy(io.Discard, body) }() // ends with the handler, which must be able to write
		return nil, req.Context().Err()
	}
	if answer.err != nil {
		return nil, answer.err
	}
	return answer.response, nil
}

// ownRequestOf returns the request that the handler gets for a client's request.
func ownRequestOf(ctx context.Context, req *http.Request) *http.Request {
	own := req.Clone(ctx)
	own.RequestURI = req.URL.RequestURI()
	own.RemoteAddr = "in-process"
	if own.Body == nil {
		own.Body = http.NoBody
	}
	return own
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

// streamedAnswer is a response writer that passes the body on to a client in this process.
type streamedAnswer struct {
	header http.Header
	body   *io.PipeWriter
	// begin closes begun after it has completed the response, which does not change afterwards.
	once     sync.Once
	begun    chan struct{}
	response *http.Response
	err      error // the response could not begin
}

// Header implements http.ResponseWriter.
func (a *streamedAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *streamedAnswer) WriteHeader(status int) { a.begin(status, nil) }

func (a *streamedAnswer) begin(status int, err error) {
	a.once.Do(func() {
		a.response.Header, a.response.StatusCode, a.err = a.header.Clone(), status, err
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *streamedAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher, which watches expect.
func (a *streamedAnswer) Flush() { a.WriteHeader(http.StatusOK) }

// CloseNotify makes the response writers that apiserver wraps around this one flushable. Nothing is ever sent: handlers
// follow the context.
func (a *streamedAnswer) CloseNotify() <-chan bool { return nil }

// end completes the response. err says why it is incomplete.
func (a *streamedAnswer) end(err error) {
	a.begin(http.StatusOK, err)
	_ = a.body.CloseWithError(err) // always returns nil
}

// answerBody is the body of a response. Closing it ends the request, as closing a connection does.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *answerBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
