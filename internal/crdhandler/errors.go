package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// storageError returns the API error for an error of the storage. name is that of the object, or empty for the whole
// resource. It is the only place where errors of the storage become API errors. It returns API errors and unknown
// errors unchanged.
func (s *requestScope) storageError(err error, name string) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	resource := s.resource.GroupResource()
	var future *dynamicstorage.FutureRevisionError
	var corrupt *stored.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return apierrors.NewInternalError(corrupt.At(s.storage.resource.Folder()))
	case errors.Is(err, dynamicstorage.ErrNotFound):
		return apierrors.NewNotFound(resource, name)
	case errors.As(err, &future):
		return tooLargeRevision(future)
	case errors.Is(err, dynamicstorage.ErrCompacted):
		return apierrors.NewResourceExpired(listExpired)
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return apierrors.NewRequestEntityTooLargeError("request is too large")
	case errors.Is(err, dynamicstorage.ErrClosed):
		// The CRD was deleted while the request was under way.
		return apierrors.NewNotFound(resource, name)
	case errors.Is(err, dynamicstorage.ErrCondition) && s.allocator != nil:
		return apierrors.NewConflict(resource, name, errors.New("what was allocated was taken back; please try again"))
	case errors.Is(err, dynamicstorage.ErrCondition):
		// The CRD was deleted before anything was written. The answer is the one for a resource that is not served.
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	case errors.Is(err, dynamicstorage.ErrUnconfirmed):
		return apierrors.NewTimeoutError(err.Error(), 0)
	case errors.Is(err, dynamicstorage.ErrUnavailable):
		// The answer does not tell the client to retry: client-go would do so for minutes, in silence.
		return apierrors.NewServiceUnavailable(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("request did not complete within requested timeout - context deadline exceeded", 0)
	}
	return err
}

// readError is storageError for a list or watch.
func (s *requestScope) readError(err error) error {
	if corrupt, ok := errors.AsType[stored.CorruptErrors](err); ok {
		return corrupt.APIError(s.resource.GroupResource())
	}
	return s.storageError(err, "")
}

const listExpired = "The resourceVersion for the provided list is too old."

// retryFuture is the number of seconds after which a client may retry a read of a revision that the server had not
// reached.
const retryFuture = 1

// tooLargeRevision returns the API error for a resourceVersion from the future (L4).
func tooLargeRevision(future *dynamicstorage.FutureRevisionError) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", future.Requested, future.Current), retryFuture)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// An answer about an invalid object has at most maxErrors errors, and no more after their text has maxErrorBytes.
// See docs/upstream.md, "Quadratic messages of error lists".
const (
	maxErrors     = 1000
	maxErrorBytes = 1 << 20
)

// reported returns the errors of an object that the answer lists. For built-in resources kube-apiserver leaves out
// errors that repeat others, because it merges them with those of declarative validation.
func (s *requestScope) reported(errs field.ErrorList) field.ErrorList {
	if !s.uniqueErrors {
		return errs
	}
	seen := make(map[string]bool, len(errs))
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		text := err.Error()
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// invalidObject returns the answer to an object with errors.
func invalidObject(kind schema.GroupKind, name string, errs field.ErrorList) error {
	if kept := answered(errs); kept < len(errs) {
		errs = append(errs[:kept:kept], &field.Error{
			Type: field.ErrorTypeTooMany, BadValue: len(errs), Detail: "there are more errors; correct these to see the others"})
	}
	return apierrors.NewInvalid(kind, name, errs)
}

// answered returns how many errors an answer has. An error may contain the whole object: that of each owner reference
// that says it is the controller, for example, contains all owner references.
func answered(errs field.ErrorList) (count int) {
	for size := 0; count < min(len(errs), maxErrors) && size < maxErrorBytes; count++ {
		size += len(errs[count].ErrorBody())
	}
	return count
}
