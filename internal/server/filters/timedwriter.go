package filters

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// timedWriter passes on a response that begins before the deadline, and replaces a later one by a timeout.
type timedWriter struct {
	w        http.ResponseWriter
	context  context.Context
	deadline time.Time
	written  int
	// release ends the guard; nil if there is none.
	release func() bool

	// mu guards the fields below against the guard, which runs beside the handler.
	mu    sync.Mutex
	state responseState
	// left: the handler has returned.
	left bool
}

// responseState is the progress of a response with a deadline.
type responseState int

const (
	pending responseState = iota
	begun                 // by the handler
	refused               // the handler was too late: the response is a timeout
	broken                // begun but not ended at the deadline
)

// unguarded is how many bytes may be written without a guard. net/http buffers that much, so the writer does not wait
// for the client.
const unguarded = 4 << 10

// guard makes reads and writes on the connection fail at the deadline, so that the handler does not wait for the
// client any longer.
func (t *timedWriter) guard() {
	if t.release != nil {
		return
	}
	t.release = context.AfterFunc(t.context, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.left || !t.late() { // not late: the client has closed the connection
			return
		}
		// Setting deadlines fails for requests from within the process, which have no connection.
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

// begin reports whether the handler's response may begin now.
func (t *timedWriter) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state != pending:
		return false
	case t.late():
		t.state = refused
		t.writeTimeout()
		return false
	}
	t.state = begun
	return true
}

// writeTimeout writes the response of kube-apiserver's timeout filter.
func (t *timedWriter) writeTimeout() {
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Length"} {
		t.w.Header().Del(name)
	}
	t.w.WriteHeader(http.StatusGatewayTimeout)
	status := apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0).Status()
	_ = json.NewEncoder(t.w).Encode(&status) // fails if the client has closed the connection
}

// Write implements http.ResponseWriter.
func (t *timedWriter) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.current() != begun {
		return 0, http.ErrHandlerTimeout
	}
	if t.written += len(p); t.written > unguarded {
		t.guard()
	}
	return t.w.Write(p)
}

func (t *timedWriter) current() responseState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Unwrap is for http.ResponseController.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.w }

// leave is called when the handler has returned or panicked. From then on the connection belongs to net/http.
func (t *timedWriter) leave() {
	if t.release != nil {
		t.release()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
}

// end is called when the handler has returned, and returns the final state. A handler that wrote nothing in time gets
// a timeout.
func (t *timedWriter) end() responseState {
	if t.late() {
		t.begin()
	}
	return t.current()
}
