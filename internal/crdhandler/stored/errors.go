package stored

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// ErrTooLarge answers a write of an object that is too large. It has the text of etcd's error, which clients know.
var ErrTooLarge = errors.New("etcdserver: request is too large")

// APIError returns the API error for an error of the storage. name is that of the object, or empty for the whole
// resource. It returns API errors and unknown errors unchanged. package write adds what only
// writes have.
func (o *Objects) APIError(err error, name string) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	var future *dynamicstorage.FutureRevisionError
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		return apierrors.NewInternalError(corrupt.At(o.Resource.Folder()))
	case errors.Is(err, dynamicstorage.ErrNotFound):
		return apierrors.NewNotFound(o.Of, name)
	case errors.As(err, &future):
		return tooLargeRevision(future)
	case errors.Is(err, dynamicstorage.ErrCompacted):
		return apierrors.NewResourceExpired(listExpired)
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return apierrors.NewRequestEntityTooLargeError("request is too large")
	case errors.Is(err, dynamicstorage.ErrClosed):
		// The CRD was deleted while the request was under way.
		return apierrors.NewNotFound(o.Of, name)
	case errors.Is(err, dynamicstorage.ErrCondition):
		// The CRD was deleted before anything was written. The answer is the one for a resource that is not served.
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	case errors.Is(err, dynamicstorage.ErrUnconfirmed):
		return apierrors.NewTimeoutError(err.Error(), 0)
	case errors.Is(err, dynamicstorage.ErrUnavailable):
		// The answer does not tell the client to retry: client-go would do so for minutes, in silence.
		return apierrors.NewServiceUnavailable(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		const text = "request did not complete within requested timeout - context deadline exceeded"
		return apierrors.NewTimeoutError(text, 0)
	}
	return err
}

// ListError is APIError for a list or watch.
func (o *Objects) ListError(err error) error {
	if corrupt, ok := errors.AsType[CorruptErrors](err); ok {
		return corrupt.APIError(o.Of)
	}
	return o.APIError(err, "")
}

const listExpired = "The resourceVersion for the provided list is too old."

// retryFuture is the number of seconds after which a client may retry a read of a revision that the server had not
// reached.
const retryFuture = 1

// tooLargeRevision returns the API error for a resourceVersion from the future (L4).
func tooLargeRevision(future *dynamicstorage.FutureRevisionError) error {
	text := fmt.Sprintf("Too large resource version: %d, current: %d", future.Requested, future.Current)
	err := apierrors.NewTimeoutError(text, retryFuture)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}
