package filters

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
)

// begin puts into the request's context what is known at the start: the time of arrival, the request info, the audit
// ID and the latency trackers, and what it reserves of the governor's memory. It does the work of four filters of
// kube-apiserver, because each of those copies the request. See docs/upstream.md, "Many contexts for one request".
func begin(next http.Handler, memory *budget.Governor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := audit.WithAuditContext(request.WithReceivedTimestamp(req.Context(), time.Now()))
		id := req.Header.Get(auditapi.HeaderAuditID)
		if id == "" {
			id = uuid.NewString()
		}
		audit.WithAuditID(ctx, types.UID(id))
		if w.Header().Get(auditapi.HeaderAuditID) == "" {
			w.Header().Set(auditapi.HeaderAuditID, id)
		}
		info, err := requestInfo.NewRequestInfo(req)
		if err != nil {
			responsewriters.InternalError(w, req, fmt.Errorf("failed to create RequestInfo: %w", err))
			return
		}
		ctx = request.WithRequestInfo(ctx, info)
		if info.Verb != "watch" && info.Verb != "watchlist" {
			ctx = request.WithLatencyTrackers(ctx)
		}
		ctx, reservation := memory.Begin(ctx)
		defer reservation.End()
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// infoOf returns the request info that begin has put into the context.
func infoOf(req *http.Request) *request.RequestInfo {
	info, _ := request.RequestInfoFrom(req.Context())
	return info
}
