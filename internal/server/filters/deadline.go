package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// withDeadline bounds how long a request takes, long-running ones aside: by the server's limit or by the client's timeout
// parameter, if that is shorter. What has not begun to be answered by then is answered with 504; what has is broken off.
//
// kube-apiserver works on every request in a goroutine of its own, and leaves that behind. Resources are served by
// handlers that obey their context, so they need none of it. Everything else goes the same way as there.
func (c *chain) withDeadline(next http.Handler) http.Handler {
	return apifilters.WithRequestDeadline(c.labels.enforceDeadline(next),
		c.guards.audit.Sink, c.guards.audit.Policy, longRunning, codecs, c.requests.Timeout)
}

// enforceDeadline answers with a timeout when the deadline of the request's context passes. Long-running requests have none.
func (l *metricLabels) enforceDeadline(next http.Handler) http.Handler {
	abandoning := l.abandoning(next)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		deadline, ok := req.Context().Deadline()
		if longRunning(req, info) || !ok {
			next.ServeHTTP(w, req)
			return
		}
		if req.ProtoMajor == 1 && req.ContentLength != 0 {
			// Before net/http answers a request that was refused without its body, it reads the rest of the body, however slowly that
			// arrives. Setting the deadline fails for requests from within the process, which have no connection.
			defer func() { _ = http.NewResponseController(w).SetReadDeadline(deadline) }()
		}
		if !obeysContext(info) {
			abandoning.ServeHTTP(w, req)
			return
		}
		timed := timedWriter{w: w, context: req.Context(), deadline: deadline}
		defer timed.leave()
		if req.ContentLength != 0 {
			timed.guard()
		}
		next.ServeHTTP(&timed, req)
		switch timed.end() {
		case refused:
			l.late(req, info)
		case broken:
			l.late(req, info)
			panic(http.ErrAbortHandler) // what was sent must not look complete
		}
	})
}

// obeysContext says that a request is served by a handler that ends when its context does.
func obeysContext(info *request.RequestInfo) bool {
	return info.IsResourceRequest && info.APIPrefix == "apis"
}

// timedWriter lets an answer through that begins before the deadline, and makes a timeout of one that would begin later.
type timedWriter struct {
	w        http.ResponseWriter
	context  context.Context
	deadline time.Time
	written  int
	// release ends the guard; nil if there is none.
	release func() bool

	// mu guards the fields below against the guard, which runs beside the handler.
	mu    sync.Mutex
	state answerState
	// left: the handler has returned.
	left bool
}

// answerState is how far the answer to a request with a deadline is.
type answerState int

const (
	pending answerState = iota
	begun               // by the handler
	refused             // the handler was too late, and has been answered for
	broken              // begun, but not ended at the deadline
)

// unguarded is how much may be written without a guard: the server keeps that much back, so that the writer does not
// have to wait for the client.
const unguarded = 4 << 10

// guard sees to it that at the deadline nobody waits any longer for the client to send or to take something.
func (t *timedWriter) guard() {
	if t.release != nil {
		return
	}
	t.release = context.AfterFunc(t.context, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.left || !t.late() { // or else the client has gone away
			return
		}
		// A request from within the process has no connection, and nobody to wait for.
		connection := http.NewResponseController(t.w)
		_ = connection.SetReadDeadline(time.Now())
		if t.state == begun {
			t.state = broken
			_ = connection.SetWriteDeadline(time.Now())
		}
	})
}

// late reports whether the deadline has passed.
func (t *timedWriter) late() bool { return !time.Now().Before(t.deadline) }

// Header implements http.ResponseWriter.
func (t *timedWriter) Header() http.Header { return t.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (t *timedWriter) WriteHeader(code int) {
	if t.begin() {
		t.w.WriteHeader(code)
	}
}

// begin says that the answer is to begin now.
func (t *timedWriter) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state != pending:
		return false
	case t.late():
		t.state = refused
		t.answerTimeout()
		return false
	}
	t.state = begun
	return true
}

// answerTimeout answers as kube-apiserver's timeout filter does.
func (t *timedWriter) answerTimeout() {
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Length"} {
		t.w.Header().Del(name)
	}
	t.w.WriteHeader(http.StatusGatewayTimeout)
	status := apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0).Status()
	_ = json.NewEncoder(t.w).Encode(&status) // fails if the client has gone
}

// Write implements http.ResponseWriter.
func (t *timedWriter) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.answer() != begun {
		return 0, http.ErrHandlerTimeout
	}
	if t.written += len(p); t.written > unguarded {
		t.guard()
	}
	return t.w.Write(p)
}

func (t *timedWriter) answer() answerState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Unwrap is for http.ResponseController.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.w }

// leave is called when the handler has returned, however it did: from then on the connection belongs to the server.
func (t *timedWriter) leave() {
	if t.release != nil {
		t.release()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
}

// end ends the answer of a handler that has returned, and says how far it came.
func (t *timedWriter) end() answerState {
	if t.late() {
		t.begin() // there will be no other answer
	}
	return t.answer()
}
