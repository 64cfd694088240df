package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
	for _, msg := range apivalidation.IsQualifiedName(finalizer) {
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
