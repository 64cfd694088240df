package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

func (f *writes) del(path, body string) reply {
	f.Helper()
	return f.do(call{method: "DELETE", path: path, body: body})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)

	t.Run("at once", func(t *testing.T) {
		obj := f.created("a", "")
		f.del("/a?dryRun=All", "").is(200)
		f.get("a").is(200)
		got := f.del("/a", "").is(200).text
		want := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a",`+
			`"group":"example.com","kind":"widgets","uid":%q}}`, obj.GetUID())
		if got != want+"\n" {
			t.Errorf("got %s, want %s", got, want)
		}
		f.get("a").is(404)
		f.del("/a", "").fails(404, metav1.StatusReasonNotFound, `widgets.example.com "a" not found`)
	})
	t.Run("with finalizers", func(t *testing.T) {
		obj := f.created("b", `"finalizers":["example.com/f"]`)
		if dry := f.del("/b?dryRun=All", "").is(200).obj; dry.GetDeletionTimestamp() == nil {
			t.Errorf("dry run: got %v", dry)
		}
		if obj := f.get("b").is(200).obj; obj.GetDeletionTimestamp() != nil {
			t.Errorf("after the dry run: got %v", obj)
		}
		leaving := f.del("/b", "").is(200).obj
		if leaving.GetKind() != "Widget" || leaving.GetDeletionTimestamp() == nil ||
			*leaving.GetDeletionGracePeriodSeconds() != 0 ||
			leaving.GetGeneration() != 2 || leaving.GetResourceVersion() == obj.GetResourceVersion() {
			t.Errorf("got %v", leaving)
		}
		again := f.del("/b", "").is(200).obj
		if fmt.Sprint(again) != fmt.Sprint(leaving) {
			t.Errorf("again: got %v, want %v", again, leaving)
		}
		f.del("/b", `{"orphanDependents":false}`).is(202)
	})
	t.Run("propagation", func(t *testing.T) {
		f.created("c", "")
		if leaving := f.del("/c?propagationPolicy=Foreground", "").is(200).obj; !slices.Equal(leaving.GetFinalizers(),
			[]string{"foregroundDeletion"}) {
			t.Errorf("foreground: got %v", leaving)
		}
		if leaving := f.del("/c",
			`{"kind":"DeleteOptions","apiVersion":"example.com/v1","propagationPolicy":"Orphan"}`).is(200).obj; !slices.Equal(
			leaving.GetFinalizers(), []string{"orphan"}) {
			t.Errorf("orphan: got %v", leaving)
		}
		f.del("/c", `{"propagationPolicy":"Background"}`).is(200)
		f.get("c").is(404)
	})
	t.Run("options in YAML", func(t *testing.T) {
		f.created("yaml", "")
		f.do(call{method: "DELETE", path: "/yaml", contentType: "application/yaml",
			body: "preconditions:\n  uid: x\n"}).is(409)
	})

	d := f.created("d", "")
	tests := []struct {
		name, path, body string
		code             int
		reason           metav1.StatusReason
		message          string
	}{
		{"uid", "/d", `{"preconditions":{"uid":"x"}}`, 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on Widget.example.com "d": the UID in the precondition (x) does not match the UID ` +
				`in record (` + string(d.GetUID()) + `). The object might have been deleted and then recreated`},
		{"resourceVersion", "/d", `{"preconditions":{"resourceVersion":"1"}}`, 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on Widget.example.com "d": the ResourceVersion in the precondition (1) does not ` +
				`match the ResourceVersion in record (` + d.GetResourceVersion() + `). The object might have been modified`},
		{"both policies", "/d", `{"orphanDependents":true,"propagationPolicy":"Orphan"}`, 422,
			metav1.StatusReasonInvalid,
			`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and ` +
				`deletionPropagation cannot be both set`},
		{"dry run", "/d?dryRun=x", "", 422, metav1.StatusReasonInvalid,
			`DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"`},
		{"another kind", "/d", `{"kind":"Status","apiVersion":"v1"}`, 400, metav1.StatusReasonBadRequest,
			"converting (v1.Status) to (v1.DeleteOptions): unknown conversion"},
		{"malformed", "/d", `{`, 400, metav1.StatusReasonBadRequest,
			"couldn't get version/kind; json parse error: unexpected end of JSON input"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.del(test.path, test.body).fails(test.code, test.reason, test.message)
		})
	}
	f.get("d").is(200)
}

func TestDeleteWithoutCollector(t *testing.T) {
	t.Parallel()
	f := newWrites(t, func(f *writes) { f.config.GarbageCollection = false })
	f.created("a", "")
	f.del("/a?propagationPolicy=Foreground", "").is(200)
	f.get("a").is(404)
}

// TestDeleteFinalize checks a resource with its own step before the generic deletion, as CRDs have.
func TestDeleteFinalize(t *testing.T) {
	t.Parallel()
	var waited []string
	f := newWrites(t, func(f *writes) {
		f.scope.deletion.finalize = func(obj runtime.Object) bool {
			m := objectmeta.Accessor(obj)
			if m.GetDeletionTimestamp() != nil {
				return false
			}
			now := metav1.Now()
			m.SetDeletionTimestamp(&now)
			m.SetFinalizers(append(m.GetFinalizers(), "example.com/cleanup"))
			return true
		}
		f.scope.InEffect = func(_ context.Context, name string) error {
			waited = append(waited, name)
			return errors.New("not yet")
		}
	})
	obj := f.created("a", "")
	f.del("/a", `{"preconditions":{"uid":"x"}}`).fails(409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on widgets.example.com "a": precondition failed: UID in precondition: x, UID in `+
			`object meta: `+string(obj.GetUID()))
	f.del("/a?dryRun=All", "").is(200)
	leaving := f.del("/a", "").is(200).obj
	if !slices.Equal(leaving.GetFinalizers(), []string{"example.com/cleanup"}) || leaving.GetGeneration() != 1 {
		t.Errorf("got %v", leaving)
	}
	f.put(leaving, "", func(obj *unstructured.Unstructured) { obj.SetFinalizers(nil) }).is(200)
	f.get("a").is(404)
	if want := []string{"a", "a", "a"}; !slices.Equal(waited, want) {
		t.Errorf("waited for %v, want %v: once for each write, not for dry runs", waited, want)
	}
}

func TestDeleteInstance(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.created("a", "")
	f.created("b", `"finalizers":["example.com/f"]`)
	for key, want := range map[string]bool{"ns/a": false, "ns/b": true, "ns/none": false} {
		left, err := deleteInstance(t.Context(), f.scope, key)
		if err != nil || left != want {
			t.Errorf("%s: got %v, %v, want %v", key, left, err, want)
		}
	}
	f.get("a").is(404)
	if f.get("b").is(200).obj.GetDeletionTimestamp() == nil {
		t.Error("b is not being deleted")
	}
}

// TestDeleteOnce checks that of many concurrent deletions of an object one succeeds and the others get 404.
func TestDeleteOnce(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.created("a", "")
	var wait sync.WaitGroup
	codes := make([]int, 16)
	for n := range codes {
		wait.Go(func() { codes[n] = f.del("/a", "").code })
	}
	wait.Wait()
	slices.Sort(codes)
	if codes[0] != 200 || codes[1] != 404 || codes[len(codes)-1] != 404 {
		t.Errorf("got %v, want one 200 and otherwise 404", codes)
	}
}
