package crdhandler

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors bounds what an answer tells of what is wrong with an object: the library makes its message by appending one error after
// the other to a string, copying all that is there.
const maxErrors = 1000

// invalidObject is the answer to an object with errors.
func invalidObject(kind schema.GroupKind, name string, errs field.ErrorList) error {
	if len(errs) > maxErrors {
		errs = append(errs[:maxErrors:maxErrors], &field.Error{Type: field.ErrorTypeTooMany, BadValue: len(errs), Detail: "there are more errors; correct these to see the others"})
	}
	return apierrors.NewInvalid(kind, name, errs)
}
