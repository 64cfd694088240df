package write

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An answer about an invalid object has at most maxErrors errors, and no more after their text has maxErrorBytes.
// See docs/upstream.md, "Quadratic messages of error lists".
const (
	maxErrors     = 1000
	maxErrorBytes = 1 << 20
)

// reported returns the errors of an object that the answer lists. For built-in resources kube-apiserver leaves out
// errors that repeat others, because it merges them with those of declarative validation.
func (e *Endpoint) reported(errs field.ErrorList) field.ErrorList {
	if !e.UniqueErrors {
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
			Type: field.ErrorTypeTooMany, BadValue: len(errs),
			Detail: "there are more errors; correct these to see the others"})
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
