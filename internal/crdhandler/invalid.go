package crdhandler

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors is the number of errors that an answer about an invalid object has at most.
// See docs/upstream.md, "Quadratic messages of error lists".
const maxErrors = 1000

// invalidObject returns the answer to an object with errors.
func invalidObject(kind schema.GroupKind, name string, errs field.ErrorList) error {
	if len(errs) > maxErrors {
		errs = append(errs[:maxErrors:maxErrors], &field.Error{Type: field.ErrorTypeTooMany, BadValue: len(errs), Detail: "there are more errors; correct these to see the others"})
	}
	return apierrors.NewInvalid(kind, name, errs)
}
