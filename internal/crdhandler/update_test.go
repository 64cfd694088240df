package crdhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// put sends a changed copy of an object.
func (f *writes) put(obj *unstructured.Unstructured, query string, change func(*unstructured.Unstructured)) reply {
	f.Helper()
	obj = obj.DeepCopy()
	name := obj.GetName()
	change(obj)
	body, err := json.Marshal(obj)
	if err != nil {
		f.Fatal(err)
	}
	return f.do(call{method: "PUT", path: "/" + name + query, body: string(body)})
}

func setSize(size int) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { obj.Object["spec"] = map[string]any{"size": int64(size)} }
}

const modified = `Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; please ` +
	`apply your changes to the latest version and try again`

func TestUpdate(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	first := f.created("a", `"labels":{"x":"y"}`)
	second := f.put(first, "", setSize(2)).is(200).obj

	t.Run("stores the change", func(t *testing.T) {
		if second.GetGeneration() != 2 || second.GetUID() != first.GetUID() ||
			second.GetResourceVersion() == first.GetResourceVersion() {
			t.Errorf("got %v", second)
		}
		if stored := f.get("a").is(200).obj; fmt.Sprint(stored) != fmt.Sprint(second) {
			t.Errorf("stored %v\nanswered %v", stored, second)
		}
	})
	t.Run("keeps fields that clients cannot set", func(t *testing.T) {
		got := f.put(second, "?dryRun=All", func(obj *unstructured.Unstructured) {
			obj.SetUID("")
			obj.SetCreationTimestamp(metav1.NewTime(time.Unix(0, 0)))
			obj.SetGeneration(77)
			obj.SetNamespace("")
		}).is(200).obj
		if fmt.Sprint(got) != fmt.Sprint(second) {
			t.Errorf("got %v\nwant %v", got, second)
		}
	})
	t.Run("no change", func(t *testing.T) {
		got := f.put(second, "", func(*unstructured.Unstructured) {}).is(200).obj
		if got.GetResourceVersion() != second.GetResourceVersion() {
			t.Error("an update without a change was written")
		}
	})
	t.Run("no change but the times of managed fields", func(t *testing.T) {
		got := f.put(second, "", func(obj *unstructured.Unstructured) {
			fields := obj.GetManagedFields()
			earlier := metav1.NewTime(time.Unix(1000, 0))
			for n := range fields {
				fields[n].Time = &earlier
			}
			obj.SetManagedFields(fields)
		}).is(200).obj
		if got.GetResourceVersion() != second.GetResourceVersion() {
			t.Errorf("an update that changes only times was written: got %v", got)
		}
	})
	t.Run("managed fields can be reset", func(t *testing.T) {
		got := f.put(second, "?dryRun=All", func(obj *unstructured.Unstructured) {
			obj.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
		}).is(200).obj
		if len(got.GetManagedFields()) != 0 {
			t.Errorf("got %v", got.GetManagedFields())
		}
	})
	t.Run("dry run", func(t *testing.T) {
		got := f.put(second, "?dryRun=All", setSize(9)).is(200).obj
		if got.GetGeneration() != 3 || got.GetResourceVersion() != second.GetResourceVersion() {
			t.Errorf("got %v", got)
		}
		if stored := f.get("a").is(200).obj; fmt.Sprint(stored) != fmt.Sprint(second) {
			t.Errorf("stored %v", stored)
		}
	})

	tests := []struct {
		name    string
		change  func(obj *unstructured.Unstructured)
		code    int
		reason  metav1.StatusReason
		message string
	}{
		{"no resourceVersion", func(obj *unstructured.Unstructured) { obj.SetResourceVersion("") }, 422,
			metav1.StatusReasonInvalid,
			`widgets.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`},
		{"stale", func(obj *unstructured.Unstructured) { obj.SetResourceVersion(first.GetResourceVersion()) }, 409,
			metav1.StatusReasonConflict, modified},
		{"no number", func(obj *unstructured.Unstructured) { obj.SetResourceVersion("x") }, 500,
			metav1.StatusReasonUnknown, `strconv.ParseUint: parsing "x": invalid syntax`},
		{"another one", func(obj *unstructured.Unstructured) { obj.SetUID("other") }, 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on widgets.example.com "a": StorageError: invalid object, Code: 4, Key: ` +
				`/registry/example.com/widgets/ns/a, ResourceVersion: 0, ` +
				`AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ` +
				string(first.GetUID())},
		{"name", func(obj *unstructured.Unstructured) { obj.SetName("b") }, 400, metav1.StatusReasonBadRequest,
			"the name of the object (b) does not match the name on the URL (a)"},
		{"namespace", func(obj *unstructured.Unstructured) { obj.SetNamespace("b") }, 400,
			metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"invalid", func(obj *unstructured.Unstructured) { obj.Object["spec"] = map[string]any{"bad": true} }, 422,
			metav1.StatusReasonInvalid,
			`Widget.example.com "a" is invalid: spec.bad: Invalid value: true: no bad widgets`},
		{"label", func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"x": "-"}) }, 422,
			metav1.StatusReasonInvalid,
			`Widget.example.com "a" is invalid: metadata.labels: Invalid value: "-": a valid label must be an empty string or ` +
				`consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used ` +
				`for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.put(second, "", test.change).fails(test.code, test.reason, test.message)
		})
	}
	t.Run("missing", func(t *testing.T) {
		second.SetName("none")
		f.put(second, "", func(*unstructured.Unstructured) {}).fails(404, metav1.StatusReasonNotFound,
			`widgets.example.com "none" not found`)
	})
	t.Run("no name", func(t *testing.T) {
		f.do(call{method: "PUT", body: widget("a", "", `{}`)}).fails(400, metav1.StatusReasonBadRequest,
			"name must be provided")
	})
}

// TestUpdateEndsDeletion checks that the removal of the last finalizer deletes the object.
func TestUpdateEndsDeletion(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.created("a", `"finalizers":["example.com/f"]`)
	leaving := f.do(call{method: "DELETE", path: "/a"}).is(200).obj
	if leaving.GetDeletionTimestamp() == nil || leaving.GetGeneration() != 2 {
		t.Errorf("got %v", leaving)
	}
	f.put(leaving, "", func(obj *unstructured.Unstructured) {
		obj.SetFinalizers([]string{"example.com/f",
			"example.com/g"})
	}).
		fails(422, metav1.StatusReasonInvalid,
			`Widget.example.com "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object `+
				`is being deleted, found new finalizers []string{"example.com/g"}`)

	finish := func(obj *unstructured.Unstructured) { obj.SetFinalizers(nil) }
	if last := f.put(leaving, "?dryRun=All", finish).is(200).obj; len(last.GetFinalizers()) != 0 {
		t.Errorf("got %v", last)
	}
	f.get("a").is(200)
	last := f.put(leaving, "", finish).is(200).obj
	if last.GetUID() != leaving.GetUID() || len(last.GetFinalizers()) != 0 {
		t.Errorf("got %v", last)
	}
	f.get("a").is(404)
}

// TestUpdateConflict changes an object between the read and the write of an update.
func TestUpdateConflict(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	obj := f.created("a", "")
	strategy := f.scope.Strategy.(*widgetStrategy)
	interfere := func() {
		strategy.prepared = func() {
			strategy.prepared = nil
			f.do(call{method: "PATCH", path: "/a", contentType: "application/merge-patch+json",
				body: `{"metadata":{"labels":{"other":"one"}}}`}).is(200)
		}
	}
	interfere()
	f.put(obj, "", setSize(2)).fails(409, metav1.StatusReasonConflict, modified)

	interfere()
	got := f.do(call{method: "PATCH", path: "/a", contentType: "application/json-patch+json",
		body: `[{"op":"replace","path":"/spec/size","value":3}]`}).is(200).obj
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 3 ||
		got.GetLabels()["other"] != "one" {
		t.Errorf("one of the two changes is lost: %v", got)
	}
	interfere()
	f.do(call{
		method: "PATCH", path: "/a", contentType: "application/merge-patch+json",
		body: fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"x":"y"}}}`, obj.GetResourceVersion()),
	}).fails(409, metav1.StatusReasonConflict, modified)
}

// TestTooLarge checks that managed fields are dropped from an object that does not fit into etcd with them, and that
// objects that are still too large are refused.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const maxRequest = 256 << 10
	f := newWritesOn(t, etcdtest.New(t, func(c *embed.Config) { c.MaxRequestBytes = maxRequest }), nil)
	var fields []string
	for n := range 4000 {
		fields = append(fields, fmt.Sprintf(`"k%029d":1`, n))
	}
	spec := "{" + strings.Join(fields, ",") + "}"
	huge := `{"x":"` + strings.Repeat("x", maxRequest) + `"}`

	if obj := f.do(call{method: "POST", body: widget("created", "",
		spec)}).is(201).obj; len(obj.GetManagedFields()) != 0 {
		t.Error("create: managed fields were stored")
	}
	obj := f.created("updated", "")
	body := widget("updated", fmt.Sprintf(`"resourceVersion":%q`, obj.GetResourceVersion()), spec)
	if obj := f.do(call{method: "PUT", path: "/updated", body: body}).is(200).obj; len(obj.GetManagedFields()) != 0 {
		t.Error("update: managed fields were stored")
	}
	f.created("patched", "")
	patch := call{method: "PATCH", path: "/patched", contentType: "application/merge-patch+json", body: `{"spec":` +
		spec + `}`}
	if obj := f.do(patch).is(200).obj; len(obj.GetManagedFields()) != 0 {
		t.Error("patch: managed fields were stored")
	}
	const message = "etcdserver: request is too large"
	f.do(call{method: "POST", body: widget("huge", "", huge)}).fails(500, metav1.StatusReasonUnknown, message)
	f.do(call{method: "PATCH", path: "/huge?fieldManager=m", contentType: "application/apply-patch+yaml",
		body: widget("huge", "", spec)}).
		fails(500, metav1.StatusReasonUnknown, message)
}

// TestUpdateReleasesQueueBeforeWaiting checks that an update does not block the queue of its key while it waits until
// it is in effect. The controller that brings it into effect may update the same object, as the controllers of CRDs do.
func TestUpdateReleasesQueueBeforeWaiting(t *testing.T) {
	t.Parallel()
	var failed atomic.Pointer[error]
	f := newWrites(t, func(f *writes) {
		f.scope.InEffect = func(ctx context.Context, name string) error {
			_, err := f.scope.Objects.Resource.Update(ctx, "ns/"+name,
				func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
					return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
				}, dynamicstorage.UpdateOptions{})
			if err != nil {
				failed.Store(&err)
			}
			return err
		}
	})
	f.created("a", "")
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			for n := range 10 {
				f.do(call{method: "PATCH", path: "/a", contentType: string(types.MergePatchType),
					body: fmt.Sprintf(`{"spec":{"size":%d}}`, 1+(writer+n)%5)})
			}
		})
	}
	writers.Wait()
	if err := failed.Load(); err != nil {
		t.Errorf("update of an object that is not in effect yet: %v", *err)
	}
}
