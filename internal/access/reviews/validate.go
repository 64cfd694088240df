package reviews

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The errors of this file are those of kube-apiserver, in the same order and words.

func checkSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := checkOne(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		path := field.NewPath("spec", "user")
		errs = append(errs, field.Invalid(path, spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, checkSelectors(spec.ResourceAttributes)...)
}

// checkOne requires the attributes of either a resource or a path.
func checkOne(
	resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes,
) field.ErrorList {
	if (resource == nil) != (other == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), shown(other),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

// shown returns attributes as kube-apiserver shows them in errors: its internal type has no names for JSON.
func shown(attributes *authorizationv1.NonResourceAttributes) any {
	if attributes == nil {
		return attributes
	}
	return struct{ Path, Verb string }{attributes.Path, attributes.Verb}
}

func checkSelectors(resource *authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if resource == nil {
		return nil
	}
	path := field.NewPath("spec.resourceAttributes")
	if s, at := resource.FieldSelector, path.Child("fieldSelector"); s != nil {
		errs = append(errs, checkSelector(s.RawSelector, len(s.Requirements), at)...)
		// Clients may be newer, and know operators that this server does not know.
		options := validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
		for n, r := range s.Requirements {
			one := at.Child("requirements").Index(n)
			errs = append(errs, validation.ValidateFieldSelectorRequirement(r, options, one)...)
		}
	}
	if s, at := resource.LabelSelector, path.Child("labelSelector"); s != nil {
		errs = append(errs, checkSelector(s.RawSelector, len(s.Requirements), at)...)
		options := validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
		for n, r := range s.Requirements {
			one := at.Child("requirements").Index(n)
			errs = append(errs, validation.ValidateLabelSelectorRequirement(r, options, one)...)
		}
	}
	return errs
}

// checkSelector requires either a text or requirements.
func checkSelector(raw string, requirements int, path *field.Path) (errs field.ErrorList) {
	switch {
	case raw != "" && requirements > 0:
		errs = append(errs, field.Invalid(path.Child("rawSelector"), raw,
			"may not specified at the same time as requirements"))
	case raw == "" && requirements == 0:
		errs = append(errs, field.Required(path.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path)))
	}
	return errs
}

// checkMetadata requires empty metadata.
func checkMetadata(meta metav1.ObjectMeta) field.ErrorList {
	meta.ManagedFields = nil
	if equality.Semantic.DeepEqual(metav1.ObjectMeta{}, meta) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, "must be empty")}
}

// invalid returns a Status with the errors. Like upstream's it names no kind.
func invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}
