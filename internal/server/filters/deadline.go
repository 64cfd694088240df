package filters

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// enforceDeadline answers with 504 when the deadline of the request's context passes. A response that has begun by
// then is broken off. Long-running requests have no deadline.
//
// kube-apiserver's filter runs each handler in a goroutine of its own, and abandons it at the deadline. The handlers
// of resources return when their context ends, so for them a response writer that watches the deadline is enough, and
// cheaper. All others use that filter. See docs/upstream.md, "A goroutine for each request".
func (l *MetricLabels) enforceDeadline(next http.Handler) http.Handler {
	abandoning := l.abandoning(next)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		deadline, ok := req.Context().Deadline()
		if longRunning(req, info) || !ok {
			next.ServeHTTP(w, req)
			return
		}
		if req.ProtoMajor == 1 && req.ContentLength != 0 {
			// Before net/http answers a request that was refused without its body, it reads the rest of the body,
			// however slowly that arrives. Setting the deadline fails for requests from within the process, which
			// have no connection.
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
			panic(http.ErrAbortHandler) // the response must not look complete
		}
	})
}

// obeysContext reports whether the handler of a request returns when the context ends.
func obeysContext(info *request.RequestInfo) bool {
	return info.IsResourceRequest && info.APIPrefix == "apis"
}
