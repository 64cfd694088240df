package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// writeTimeout bounds every write but deletecollection (W12).
const writeTimeout = 34 * time.Second

// writeContext returns the context of a write: it has a time limit, and the namespace that the strategies of
// CustomResourceDefinitions look for.
func (s *requestScope) writeContext(req *http.Request) (context.Context, context.CancelFunc) {
	namespace, _ := s.target(req)
	ctx, cancel := context.WithTimeout(req.Context(), writeTimeout)
	return request.WithNamespace(ctx, namespace), cancel
}

// addressed returns the object that a request names, as most writes must, and the responder.
func (s *requestScope) addressed(req *http.Request) (namespace, name string, answer responder, err error) {
	if namespace, name = s.target(req); name == "" {
		return "", "", responder{}, objectmeta.ErrNoName
	}
	answer, err = s.negotiate(req)
	return namespace, name, answer, err
}

// writeFailed answers a write that has failed after it was decoded. It may have run out of time, or be larger than
// etcd takes.
func (s *requestScope) writeFailed(ctx context.Context, err error, w http.ResponseWriter, req *http.Request) {
	s.err(finished(ctx, err), w, req)
}

// finished turns the error of a write into its answer.
func finished(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		text := fmt.Sprintf("request did not complete within requested timeout - %s", ctx.Err())
		return apierrors.NewTimeoutError(text, 0)
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return stored.ErrTooLarge
	}
	return err
}

// isDryRun reports whether options ask for a dry run.
func isDryRun(dryRun []string) bool { return len(dryRun) > 0 }
