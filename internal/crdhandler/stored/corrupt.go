package stored

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// CorruptError says that a stored value cannot be decrypted or decoded (W18).
type CorruptError struct {
	Key string
	Err error
}

// Error implements error. The text names the object by its key below the resource.
func (e *CorruptError) Error() string { return e.At("").Error() }

// Unwrap returns the error of reading the value.
func (e *CorruptError) Unwrap() error { return e.Err }

// At returns the error with the object's whole key, in the words of upstream's storage.
func (e *CorruptError) At(resource string) error {
	reason := "object not decodable: "
	if errors.Is(e.Err, dynamicstorage.ErrUntransformable) {
		reason = ""
	}
	return fmt.Errorf("StorageError: corrupt object, Code: 7, Key: /%s, ResourceVersion: 0, AdditionalErrorMsg: %s%w",
		strings.Trim(resource+"/"+e.Key, "/"), reason, e.Err)
}

// Unreadable returns the error of an entry that cannot be read, and nil for every other entry.
func Unreadable(entry *dynamicstorage.Entry, view *dynamicstorage.View) *CorruptError {
	switch {
	case view == nil:
		return &CorruptError{Key: entry.Key, Err: entry.Err}
	case view.Err != nil:
		return &CorruptError{Key: entry.Key, Err: view.Err}
	}
	return nil
}

// CorruptErrors fails a list or watch that met objects it cannot read. It has at least one element.
type CorruptErrors []*CorruptError

// Error implements error.
func (e CorruptErrors) Error() string { return fmt.Sprintf("%d corrupt objects: %v", len(e), e[0]) }

// AllUnreadable returns the errors of the entries that cannot be read.
func AllUnreadable(entries []*dynamicstorage.Entry, views []*dynamicstorage.View) (corrupt CorruptErrors) {
	for n, entry := range entries {
		if err := Unreadable(entry, views[n]); err != nil {
			corrupt = append(corrupt, err)
		}
	}
	return corrupt
}

// maxListedCorrupt is the largest number of unreadable objects that APIError names.
const maxListedCorrupt = 100

// APIError returns the API error for a list or watch of a resource. It names the objects (W18).
func (e CorruptErrors) APIError(resource schema.GroupResource) error {
	var causes []metav1.StatusCause
	for _, corrupt := range e[:min(len(e), maxListedCorrupt)] {
		causes = append(causes, metav1.StatusCause{
			Type:    metav1.CauseTypeUnexpectedServerResponse,
			Field:   corrupt.Key,
			Message: corrupt.Error(),
		})
	}
	if len(e) > maxListedCorrupt {
		const text = "too many errors, the list is truncated"
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: text})
	}
	message := fmt.Sprintf("failed to read one or more %s from the storage: %v", resource, e[0])
	if more := min(len(e), maxListedCorrupt) - 1; more > 0 {
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
