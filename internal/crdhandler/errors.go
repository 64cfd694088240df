package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// storageError returns the API error for an error of the storage about an object, or about all of the resource if
// name is empty. It is the one place where they meet. API errors, and what is unknown here, are returned as they are.
func (s *requestScope) storageError(err error, name string) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	resource := s.resource.GroupResource()
	var future *dynamicstorage.FutureRevisionError
	var corrupt *corruptError
	switch {
	case errors.As(err, &corrupt):
		return apierrors.NewInternalError(corrupt.at(resource.Group + "/" + resource.Resource))
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
	case errors.Is(err, dynamicstorage.ErrCondition):
		// So it was here, before anything was written: the answer is that of a resource nobody serves.
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	case errors.Is(err, dynamicstorage.ErrUnavailable):
		// A write may have happened: nothing here invites a client to repeat it.
		return apierrors.NewServiceUnavailable(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("request did not complete within requested timeout - context deadline exceeded", 0)
	}
	return err
}

// readError is storageError for a list or watch. Nothing is lost by repeating it, and the client is told when to.
func (s *requestScope) readError(err error) error {
	if errors.Is(err, dynamicstorage.ErrUnavailable) {
		return apierrors.NewTooManyRequests("storage is (re)initializing", retryUnavailable)
	}
	return s.storageError(err, "")
}

// retryUnavailable is how many seconds later a read may be tried again that found no etcd.
const retryUnavailable = 1

const (
	listExpired     = "The resourceVersion for the provided list is too old."
	continueExpired = "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
		"without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
		"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted " +
		"between the time the first chunk was returned and now may show up in the list."
)

// expiredContinue is the answer to a continue token whose revision is gone. It carries a token that goes on from the
// same place at the latest revision (L6).
func expiredContinue(start string) error {
	err := apierrors.NewResourceExpired(continueExpired)
	err.ErrStatus.ListMeta.Continue = continueToken{Revision: latestRevision, Start: start}.encode()
	return err
}

// retryFuture is how soon a client may ask again for a revision that the server had not reached.
const retryFuture = 1

// tooLargeRevision is the answer to a resourceVersion from the future (L4).
func tooLargeRevision(future *dynamicstorage.FutureRevisionError) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", future.Requested, future.Current), retryFuture)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// corruptError says that a stored value cannot be decrypted or decoded (W18).
type corruptError struct {
	key string
	err error
}

func (e *corruptError) Error() string { return e.at("").Error() }

func (e *corruptError) Unwrap() error { return e.err }

// at names the object by its whole key, in the words of upstream's storage.
func (e *corruptError) at(resource string) error {
	return fmt.Errorf("StorageError: corrupt object, Code: 7, Key: /%s, ResourceVersion: 0, AdditionalErrorMsg: object not decodable: %w",
		strings.Trim(resource+"/"+e.key, "/"), e.err)
}

// maxListedCorrupt bounds how many unreadable objects the answer to a list names.
const maxListedCorrupt = 100

// corruptList is the answer to a list with objects that cannot be read: it names them all (W18).
func (s *requestScope) corruptList(corrupt []*corruptError) error {
	resource := s.resource.GroupResource()
	var causes []metav1.StatusCause
	for _, e := range corrupt[:min(len(corrupt), maxListedCorrupt)] {
		causes = append(causes, metav1.StatusCause{
			Type:    metav1.CauseTypeUnexpectedServerResponse,
			Field:   e.key,
			Message: e.Error(),
		})
	}
	if len(corrupt) > maxListedCorrupt {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
	}
	message := fmt.Sprintf("failed to read one or more %s from the storage: %v", resource, corrupt[0])
	if more := min(len(corrupt), maxListedCorrupt) - 1; more > 0 {
		message = fmt.Sprintf("%s (and %d more)", message, more)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonStoreReadError,
		Message: message,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: "list", Causes: causes},
	}}
}
