package workers

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// LogFailure logs that a controller could not finish its work on an item. What clients have done is no error of this
// server: a refusal, as of a webhook or a policy, is logged on request only.
func LogFailure(ctx context.Context, err error, message string, keysAndValues ...any) {
	log := klog.FromContext(ctx).WithCallDepth(1)
	if refused(err) {
		log.V(1).Info(message, append(keysAndValues, "err", err)...)
		return
	}
	log.Error(err, message, keysAndValues...)
}

// waiting is the error of work that waits for a client.
type waiting struct{ error }

// Waiting returns an error that says that work waits for a client, as for one that has to delete an object.
func Waiting(err error) error { return waiting{err} }

// refused reports whether all errors in err are refusals: requests of this server to itself that are answered with a
// client error, or that a webhook or its patch has failed. Waiting is one too.
func refused(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !refused(part) {
				return false
			}
		}
		return true
	case apierrors.APIStatus:
		status := e.Status()
		return status.Code >= 400 && status.Code < 500 ||
			strings.Contains(status.Message, "webhook") || strings.Contains(status.Message, "operation does not apply")
	case waiting:
		return true
	}
	inner := errors.Unwrap(err)
	return inner != nil && refused(inner)
}
