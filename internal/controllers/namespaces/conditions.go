package namespaces

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// content is what an attempt to delete the content of a namespace has found.
type content struct {
	// remaining counts the objects that are left, by resource; finalizers those with a finalizer.
	remaining  map[schema.GroupVersionResource]int
	finalizers map[string]int
	// errs are those of resources whose objects could not be deleted.
	errs []error
}

// conditions returns the conditions of a namespace in the order in which kube-controller-manager adds them. The first
// two never fail: the server knows the resources that it serves.
func (c *content) conditions() []corev1.NamespaceCondition {
	fulfilled := func(t corev1.NamespaceConditionType, reason, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
	conditions := []corev1.NamespaceCondition{
		fulfilled(corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered"),
		fulfilled(corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions",
			"All legacy kube types successfully parsed"),
		fulfilled(corev1.NamespaceDeletionContentFailure, "ContentDeleted",
			"All content successfully deleted, may be waiting on finalization"),
		fulfilled(corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed"),
		fulfilled(corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers",
			"All content-preserving finalizers finished"),
	}
	fail := func(n int, reason, message string) {
		conditions[n].Status, conditions[n].Reason, conditions[n].Message = corev1.ConditionTrue, reason, message
	}
	if len(c.errs) > 0 {
		var messages []string
		for _, err := range c.errs {
			messages = append(messages, err.Error())
		}
		fail(2, "ContentDeletionFailed",
			fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(messages), sorted(messages)))
	}
	if len(c.remaining) > 0 {
		var resources []string
		for gvr, n := range c.remaining {
			resources = append(resources, fmt.Sprintf("%s.%s has %d resource instances", gvr.Resource, gvr.Group, n))
		}
		fail(3, "SomeResourcesRemain", "Some resources are remaining: "+sorted(resources))
	}
	if len(c.finalizers) > 0 {
		var finalizers []string
		for name, n := range c.finalizers {
			finalizers = append(finalizers, fmt.Sprintf("%s in %d resource instances", name, n))
		}
		fail(4, "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+sorted(finalizers))
	}
	return conditions
}

func sorted(parts []string) string {
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// setConditions sets conditions in a status. It reports whether the status has changed.
func setConditions(status *corev1.NamespaceStatus, conditions []corev1.NamespaceCondition) (changed bool) {
	for _, c := range conditions {
		c.LastTransitionTime = metav1.Now()
		n := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.Type })
		if n < 0 {
			status.Conditions, changed = append(status.Conditions, c), true
			continue
		}
		old := &status.Conditions[n]
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message {
			*old, changed = c, true
		}
	}
	return changed
}
