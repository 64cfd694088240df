package namespaces

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestConditions checks the conditions of what is left in a namespace, beside conditions of others.
func TestConditions(t *testing.T) {
	t.Parallel()
	before := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	other := corev1.NamespaceCondition{Type: "Other", Status: corev1.ConditionTrue, LastTransitionTime: before}
	status := &corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{other}}
	if found := (&content{}); !setConditions(status, found.conditions()) || setConditions(status, found.conditions()) {
		t.Error("the first conditions of an empty namespace are a change, and the same again are none")
	}
	for n := range status.Conditions {
		status.Conditions[n].LastTransitionTime = before
	}
	found := &content{
		remaining: map[schema.GroupVersionResource]int{{Version: "v1", Resource: "configmaps"}: 2,
			{Group: "a.b", Version: "v2", Resource: "tables"}: 1},
		finalizers: map[string]int{"x/y": 2, "a/b": 1},
		errs:       []error{errors.New("second"), errors.New("first")},
	}
	if !setConditions(status, found.conditions()) {
		t.Error("what is left is no change")
	}
	for n, want := range []corev1.NamespaceCondition{
		other,
		{Type: "NamespaceDeletionDiscoveryFailure", Status: "False", Reason: "ResourcesDiscovered",
			Message: "All resources successfully discovered"},
		{Type: "NamespaceDeletionGroupVersionParsingFailure", Status: "False", Reason: "ParsedGroupVersions",
			Message: "All legacy kube types successfully parsed"},
		{Type: "NamespaceDeletionContentFailure", Status: "True", Reason: "ContentDeletionFailed",
			Message: "Failed to delete all resource types, 2 remaining: first, second"},
		{Type: "NamespaceContentRemaining", Status: "True", Reason: "SomeResourcesRemain",
			Message: "Some resources are remaining: configmaps. has 2 resource instances, tables.a.b has 1 resource instances"},
		{Type: "NamespaceFinalizersRemaining", Status: "True", Reason: "SomeFinalizersRemain",
			Message: "Some content in the namespace has finalizers remaining: a/b in 1 resource instances, x/y in 2 resource " +
				"instances"},
	} {
		got := status.Conditions[n]
		if changed := !got.LastTransitionTime.Equal(&before); changed != (n > 2) {
			t.Errorf("%s: the time of the transition has changed: %v", got.Type, changed)
		}
		if got.LastTransitionTime, want.LastTransitionTime = before, before; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	failure := found.conditions()
	failure[3].Message = "fewer"
	if !setConditions(status, failure) {
		t.Error("another message is no change")
	}
}
