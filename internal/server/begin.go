package server

import (
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// begin gives the request its context, and tells what is known from the outset: when it came, what it is about, and under
// which ID it is audited.
func begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		growStack(req.Method)
		c := &requestContext{Context: req.Context(), received: time.Now()}
		c.waiting.begin()
		id := req.Header.Get(auditapi.HeaderAuditID)
		if id == "" {
			id = uuid.NewString()
		}
		audit.WithAuditID(c, types.UID(id))
		if w.Header().Get(auditapi.HeaderAuditID) == "" {
			w.Header().Set(auditapi.HeaderAuditID, id)
		}
		var err error
		if c.info, err = requestInfo.NewRequestInfo(req); err != nil {
			responsewriters.InternalError(w, req, fmt.Errorf("failed to create RequestInfo: %w", err))
			return
		}
		c.warnings.w = w
		next.ServeHTTP(w, req.WithContext(c))
	})
}

// collectWarnings has warnings go to the writer at its place in the chain.
func collectWarnings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requestContextFrom(req.Context()).warnings.w = w
		next.ServeHTTP(w, req)
	})
}

// growStack makes the goroutine's stack as large as a read or a write of an object needs it. It is small in the goroutine that
// the HTTP/2 server starts for every request, and would be copied at every doubling, with ever more on it.
func growStack(method string) {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		growForWrite()
	default:
		growForRead()
	}
}

//go:noinline
func growForRead() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

//go:noinline
func growForWrite() {
	var room [20 << 10]byte
	runtime.KeepAlive(&room)
}
