package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// A write is read from top to bottom in the file of its verb (create.go, update.go, patch.go, delete.go):
//
//	decode    options and body of the request
//	build     the new object: the one that was sent, or the stored one with the patch in it; and its managed fields
//	admit     mutating admission
//	validate  the rules of the endpoint (strategy), then validating admission
//	commit    encode the object, and store it in a transaction guarded by the revision of the object it was built from
//	respond   with the stored object
//
// POST goes through the steps once (creation). All other writes are guarded updates (guardedUpdate): they build the
// object of the stored one, and start again when another write was faster.

// writeTimeout bounds every write but deletecollection (W12).
const writeTimeout = 34 * time.Second

// writeContext returns the context of a write: it has a time limit, and the namespace that the strategies of
// CustomResourceDefinitions look for.
func (s *requestScope) writeContext(req *http.Request) (context.Context, context.CancelFunc) {
	namespace, _ := s.target(req)
	ctx, cancel := context.WithTimeout(req.Context(), writeTimeout)
	return request.WithNamespace(ctx, namespace), cancel
}

// addressed returns the object that a request names, as most writes must, and the format of the answer.
func (s *requestScope) addressed(req *http.Request) (namespace, name string, media negotiation.MediaTypeOptions, err error) {
	if namespace, name = s.target(req); name == "" {
		return "", "", media, objectmeta.ErrNoName
	}
	media, err = s.negotiate(req)
	return namespace, name, media, err
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
		return apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", ctx.Err()), 0)
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return stored.ErrTooLarge
	}
	return err
}

// writeError is storageError, except for ErrTooLarge, which the verbs look for.
func (s *requestScope) writeError(err error, name string) error {
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		return err
	}
	return s.storage.APIError(err, name)
}

// waitInEffect waits until the write of an object is in effect. The write is done: a failure here cannot undo it.
func (s *requestScope) waitInEffect(ctx context.Context, name string) {
	if s.inEffect == nil {
		return
	}
	if err := s.inEffect(ctx, name); err != nil && !errors.Is(ctx.Err(), context.Canceled) { // a client may leave
		klog.FromContext(ctx).Error(err, "Written object is not in effect yet", "resource", s.resource, "name", name)
	}
}

// preconditionFailed is upstream's answer to a write that was meant for another object. In a dry run upstream names the
// key without the prefix.
func (a *admitter) preconditionFailed(text string) error {
	key := path.Join("/", a.scope.storage.Resource.Folder(), a.scope.scopedNamespace(a.namespace), a.name)
	if !a.dryRun {
		key = "/registry" + key
	}
	return apierrors.NewConflict(a.scope.resource.GroupResource(), a.name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", key, text))
}

// isDryRun reports whether options ask for a dry run.
func isDryRun(dryRun []string) bool { return len(dryRun) > 0 }
