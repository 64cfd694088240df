package filters

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Removals ends watches.
type Removals interface {
	// Watch returns a context that ends when the credential of the user is removed. The caller calls stop at the end.
	Watch(ctx context.Context, u user.Info) (watching context.Context, stop func())
}

// endRemoved ends long-running requests when the credential of their user is removed. Other requests are short, and the
// next one is refused.
func (c *Chain) endRemoved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		u, ok := request.UserFrom(req.Context())
		if !ok || info == nil || !longRunning(req, info) {
			next.ServeHTTP(w, req)
			return
		}
		ctx, stop := c.Removals.Watch(req.Context(), u)
		defer stop()
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}
