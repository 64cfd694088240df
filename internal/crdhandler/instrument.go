package crdhandler

import (
	"net/http"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// instrumented wraps a verb in upstream's request metrics. A watch gets upstream's ResponseWriter, which can be hijacked for a
// websocket.
func instrumented(handle http.HandlerFunc, info *request.RequestInfo, deprecated bool) http.HandlerFunc {
	verb, scope := strings.ToUpper(info.Verb), metrics.CleanScope(info)
	if info.Verb == "watch" {
		measured := metrics.InstrumentHandlerFunc(verb, info.APIGroup, info.APIVersion, info.Resource, info.Subresource,
			scope, metrics.APIServerComponent, deprecated, "", handle)
		return func(w http.ResponseWriter, req *http.Request) {
			metrics.RecordLongRunning(req, info, metrics.APIServerComponent, func() { measured(w, req) })
		}
	}
	return func(w http.ResponseWriter, req *http.Request) {
		received, ok := request.ReceivedTimestampFrom(req.Context())
		if !ok {
			received = time.Now()
		}
		counted := countedWriter{ResponseWriter: w}
		handle(&counted, req)
		metrics.MonitorRequest(req, verb, info.APIGroup, info.APIVersion, info.Resource, info.Subresource,
			scope, metrics.APIServerComponent, deprecated, "", counted.code, counted.written, time.Since(received))
	}
}

// countedWriter records the status and the length of an answer.
type countedWriter struct {
	http.ResponseWriter
	code, written int
}

// WriteHeader implements http.ResponseWriter.
func (c *countedWriter) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *countedWriter) Write(p []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.written += n
	return n, err
}

// Unwrap lets http.ResponseController find the writer.
func (c *countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
