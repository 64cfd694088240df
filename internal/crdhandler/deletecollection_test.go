package crdhandler

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
)

// names returns the names in a list.
func (r reply) names() []string {
	r.Helper()
	var names []string
	items, _, err := unstructured.NestedSlice(r.obj.Object, "items")
	if err != nil {
		r.Fatal(err)
	}
	for _, item := range items {
		names = append(names, (&unstructured.Unstructured{Object: item.(map[string]any)}).GetName())
	}
	return names
}

func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{0, 4} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) { testDeleteCollection(t, workers) })
	}
}

func testDeleteCollection(t *testing.T, workers int) {
	f := newWrites(t, func(f *writes) { f.config.DeleteCollectionWorkers = workers })
	create := func() {
		t.Helper()
		for n := range 4 {
			f.created(fmt.Sprintf("even%d", n), `"labels":{"parity":"even"}`)
			f.created(fmt.Sprintf("odd%d", n), `"labels":{"parity":"odd"}`)
		}
	}
	left := func() []string {
		t.Helper()
		return f.do(call{method: "GET"}).is(200).names()
	}

	create()
	f.del("?dryRun=All", "").is(200)
	if got := left(); len(got) != 8 {
		t.Errorf("after a dry run: got %v", got)
	}
	r := f.del("?labelSelector=parity%3Dodd", "").is(200)
	if got, want := r.names(), []string{"odd0", "odd1", "odd2", "odd3"}; !slices.Equal(got, want) ||
		r.obj.GetKind() != "WidgetList" {
		t.Errorf("got %v, want %v", r.text, want)
	}
	if got, want := left(), []string{"even0", "even1", "even2", "even3"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	r = f.del("?limit=3", "").is(200)
	if got, want := r.names(), []string{"even0", "even1", "even2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	f.del("?fieldSelector=metadata.name%3Dnone", "").is(200)
	if got, want := left(), []string{"even3"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	f.del("", `{"propagationPolicy":"Foreground"}`).is(200)
	if obj := f.get("even3").is(200).obj; obj.GetDeletionTimestamp() == nil {
		t.Errorf("options in the body: got %v", obj)
	}
}

func TestDeleteCollectionRefuses(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.created("a", "")
	f.del("?fieldSelector=spec.x%3D1", "").fails(400, metav1.StatusReasonBadRequest,
		"field label not supported: spec.x")
	f.del("", `{"ignoreStoreReadErrorWithClusterBreakingPotential":true}`).fails(422, metav1.StatusReasonInvalid,
		`DeleteOptions.meta.k8s.io "" is invalid: ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: `+
			`is not allowed with DELETECOLLECTION, try again after removing the option`)
	f.del("", `{"preconditions":{"uid":"x"}}`).is(409)
	f.get("a").is(200)
}

// TestDeleteCollectionPanics checks that a panic in a worker fails the request and not the server.
func TestDeleteCollectionPanics(t *testing.T) {
	t.Parallel()
	f := newWrites(t, func(f *writes) { f.config.Admission = panickingAdmission{} })
	f.created("a", "")
	f.del("", "").fails(500, metav1.StatusReasonInternalError, "Internal error occurred: panic: deleting")
	f.get("a").is(200)
}

// panickingAdmission panics when an object is deleted.
type panickingAdmission struct{}

func (panickingAdmission) Handles(operation admission.Operation) bool {
	return operation == admission.Delete
}

func (panickingAdmission) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	panic("deleting")
}
