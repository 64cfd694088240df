package objectmeta

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMetadataEntries is how many labels, annotations, finalizers, owner references and entries of managed fields an
// object may have of each. Validation makes several errors, of some hundred bytes, for each of them.
const maxMetadataEntries = 10_000

// maxControllers is how many owner references may say that they are the controller. Only one is valid, and the error of
// each further one contains all owner references.
// See docs/upstream.md, "An error for each controller with all owners".
const maxControllers = 10

// CheckEntries refuses an object with too many entries in its metadata.
func CheckEntries(m metav1.Object) error {
	for name, entries := range map[string]int{
		"labels": len(m.GetLabels()), "annotations": len(m.GetAnnotations()), "finalizers": len(m.GetFinalizers()),
		"ownerReferences": len(m.GetOwnerReferences()), "managedFields": len(m.GetManagedFields()),
	} {
		if err := checkEntries(name, entries); err != nil {
			return err
		}
	}
	controllers := 0
	for _, owner := range m.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			controllers++
		}
	}
	return checkControllers(controllers)
}

// CheckUnstructuredEntries is CheckEntries for an object that may not have the structure of one yet.
func CheckUnstructuredEntries(obj map[string]any) error {
	metadata, _ := obj["metadata"].(map[string]any)
	for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences", "managedFields"} {
		entries := 0
		switch value := metadata[name].(type) {
		case map[string]any:
			entries = len(value)
		case []any:
			entries = len(value)
		}
		if err := checkEntries(name, entries); err != nil {
			return err
		}
	}
	controllers := 0
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		if members, _ := owner.(map[string]any); members["controller"] == true {
			controllers++
		}
	}
	return checkControllers(controllers)
}

func checkEntries(name string, entries int) error {
	if entries > maxMetadataEntries {
		return tooLarge("metadata.%s has %d entries, at most %d are allowed", name, entries, maxMetadataEntries)
	}
	return nil
}

func checkControllers(controllers int) error {
	if controllers > maxControllers {
		return tooLarge("metadata.ownerReferences has %d controllers, only one is allowed", controllers)
	}
	return nil
}

// tooLarge returns the answer to metadata that exceeds a limit.
func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}
