package validation

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// validateTypeMeta holds the object's kind and apiVersion against those that are served here.
func (v *Version) validateTypeMeta(obj *unstructured.Unstructured) field.ErrorList {
	accessor, err := meta.TypeAccessor(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("kind"), nil, err.Error())}
	}
	var errs field.ErrorList
	if want := v.set.kind.Kind; accessor.GetKind() != want {
		errs = append(errs, field.Invalid(field.NewPath("kind"), accessor.GetKind(), "must be "+want))
	}
	if want := v.set.kind.Group + "/" + v.spec.Name; accessor.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), accessor.GetAPIVersion(), "must be "+want))
	}
	return errs
}

// validateObjectMeta validates the metadata of a new object, or when old is not nil, of a changed one.
func (v *Version) validateObjectMeta(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	newMeta, errs := objectMeta(obj)
	if len(errs) > 0 {
		return errs
	}
	op, oldMeta, validateName := operation.Create, (*metav1.ObjectMeta)(nil), apivalidation.ValidateNameFunc(apivalidation.NameIsDNSSubdomain)
	if old != nil {
		op, validateName = operation.Update, nil
		if oldMeta, errs = objectMeta(old); len(errs) > 0 {
			return errs
		}
	}
	namespaced := v.set.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	return apivalidation.ValidateObjectMetaDeclaratively(ctx, op, newMeta, oldMeta, namespaced, validateName,
		field.NewPath("metadata"), utilfeature.DefaultFeatureGate.Enabled(features.DeclarativeValidationBeta))
}

// objectMeta reads the metadata of an object; an object may have none.
func objectMeta(obj *unstructured.Unstructured) (*metav1.ObjectMeta, field.ErrorList) {
	path := field.NewPath("metadata")
	raw := obj.Object["metadata"]
	if raw == nil {
		return &metav1.ObjectMeta{}, nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		return nil, field.ErrorList{field.Invalid(path, raw, fmt.Sprintf("expected map[string]interface{}, got %T", raw))}
	}
	if plain, ok := plainObjectMeta(fields); ok {
		return plain, nil
	}
	parsed := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, parsed); err != nil {
		return nil, field.ErrorList{field.Invalid(path, raw, err.Error())}
	}
	return parsed, nil
}
