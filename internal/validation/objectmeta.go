package validation

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// validateTypeMeta validates the kind and apiVersion of the object.
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

// validateObjectMeta validates the metadata of a new object or, if old is not nil, of a changed one.
func (v *Version) validateObjectMeta(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	newMeta, errs := objectMeta(obj)
	if len(errs) > 0 {
		return errs
	}
	op, oldMeta, validateName := operation.Create, (*metav1.ObjectMeta)(nil),
		apivalidation.ValidateNameFunc(apivalidation.NameIsDNSSubdomain)
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

// objectMeta decodes the metadata of an object, without the fieldsV1 of managed fields. An object may have no metadata.
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
	parsed := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(withoutFieldSets(fields), parsed); err != nil {
		return nil, field.ErrorList{field.Invalid(path, raw, err.Error())}
	}
	return parsed, nil
}

// withoutFieldSets returns metadata without the fieldsV1 of managed fields, which no validation reads: the library
// would encode each as JSON. It returns metadata unchanged if an operation is invalid. The library drops that error if
// the entry has not changed, and an entry that differs in fieldsV1 has changed. See docs/upstream.md, "FromUnstructured
// encodes fieldsV1".
func withoutFieldSets(metadata map[string]any) map[string]any {
	entries, ok := metadata["managedFields"].([]any)
	if !ok {
		return metadata
	}
	stripped := make([]any, len(entries))
	for i := range entries {
		entry, _ := entries[i].(map[string]any)
		operation := entry["operation"]
		if operation != string(metav1.ManagedFieldsOperationApply) &&
			operation != string(metav1.ManagedFieldsOperationUpdate) {
			return metadata
		}
		entry = maps.Clone(entry)
		delete(entry, "fieldsV1")
		stripped[i] = entry
	}
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = stripped
	return metadata
}

// standardFinalizers are the finalizers without a domain.
var standardFinalizers = sets.New(
	metav1.FinalizerOrphanDependents,
	metav1.FinalizerDeleteDependents,
	string(corev1.FinalizerKubernetes),
)

// WarningsForFinalizers returns warnings about the names of finalizers that obj has and old does not have (W14). old
// may be nil.
func WarningsForFinalizers(obj, old *unstructured.Unstructured) []string {
	finalizers := obj.GetFinalizers()
	if len(finalizers) == 0 {
		return nil
	}
	added := sets.New(finalizers...)
	if old != nil {
		added.Delete(old.GetFinalizers()...)
	}
	var warnings []string
	path := field.NewPath("metadata", "finalizers").String()
	for _, finalizer := range sets.List(added) {
		warnings = append(warnings, warningsForFinalizer(finalizer, path)...)
	}
	return warnings
}

func warningsForFinalizer(finalizer, path string) []string {
	var warnings []string
	for _, msg := range utilvalidation.IsQualifiedName(finalizer) {
		warnings = append(warnings, fmt.Sprintf("%s: %q: %s", path, finalizer, msg))
	}
	switch {
	case strings.Contains(finalizer, "/"), standardFinalizers.Has(finalizer):
	case strings.Contains(finalizer, "."):
		warnings = append(warnings, fmt.Sprintf("%s: %q: prefer a domain-qualified finalizer name including a path (/) to "+
			"avoid accidental conflicts with other finalizer writers", path, finalizer))
	default:
		warnings = append(warnings, fmt.Sprintf("%s: %q: prefer a domain-qualified finalizer name to avoid accidental "+
			"conflicts with other finalizer writers", path, finalizer))
	}
	return warnings
}
