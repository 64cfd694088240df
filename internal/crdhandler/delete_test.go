package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestCollectorFinalizers(t *testing.T) {
	t.Parallel()
	const orphan, foreground = metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents
	yes, no := true, false
	policy := func(p metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &p}
	}
	tests := []struct {
		name       string
		finalizers []string
		options    metav1.DeleteOptions
		want       []string
	}{
		{name: "nothing said", finalizers: []string{"x"}, want: []string{"x"}},
		{name: "nothing said, set before", finalizers: []string{orphan, "x"}, want: []string{orphan, "x"}},
		{name: "nothing said, both set before", finalizers: []string{foreground, "x", orphan},
			want: []string{foreground, "x"}},
		{name: "orphan", finalizers: []string{"x"}, options: policy(metav1.DeletePropagationOrphan),
			want: []string{"x", orphan}},
		{name: "foreground", options: policy(metav1.DeletePropagationForeground), want: []string{foreground}},
		{name: "foreground instead of orphan", finalizers: []string{orphan},
			options: policy(metav1.DeletePropagationForeground), want: []string{foreground}},
		{name: "background", finalizers: []string{orphan, "x", foreground},
			options: policy(metav1.DeletePropagationBackground), want: []string{"x"}},
		//lint:ignore SA1019 old clients set it
		{name: "old orphan", options: metav1.DeleteOptions{OrphanDependents: &yes}, want: []string{orphan}},
		//lint:ignore SA1019 old clients set it
		{name: "old no orphan", finalizers: []string{orphan}, options: metav1.DeleteOptions{OrphanDependents: &no}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.finalizers)
			if got := collectorFinalizers(test.finalizers, &test.options); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if !slices.Equal(before, test.finalizers) {
				t.Error("the argument was modified")
			}
		})
	}
}

func TestMarkDeleting(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1000, 0))
	past, future := metav1.NewTime(time.Unix(500, 0)), metav1.NewTime(time.Unix(2000, 0))
	tests := []struct {
		name           string
		before         metav1.ObjectMeta
		want           metav1.Time
		wantGeneration int64
	}{
		{name: "first time", before: metav1.ObjectMeta{Generation: 3}, want: now, wantGeneration: 4},
		{name: "no generation", want: now},
		{name: "again", before: metav1.ObjectMeta{Generation: 3, DeletionTimestamp: &past}, want: past,
			wantGeneration: 3},
		{name: "due later", before: metav1.ObjectMeta{Generation: 3, DeletionTimestamp: &future}, want: now,
			wantGeneration: 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := test.before
			markDeleting(&m, now)
			if !m.DeletionTimestamp.Equal(&test.want) || m.Generation != test.wantGeneration {
				t.Errorf("got %v, generation %d, want %v, generation %d", m.DeletionTimestamp, m.Generation, test.want,
					test.wantGeneration)
			}
			if m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds != 0 {
				t.Errorf("grace period: got %v, want 0", m.DeletionGracePeriodSeconds)
			}
		})
	}
}

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
		want := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","group":"example.com","kind":"widgets","uid":%q}}`, obj.GetUID())
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
			`{"kind":"DeleteOptions","apiVersion":"example.com/v1","propagationPolicy":"Orphan"}`).is(200).obj; !slices.Equal(leaving.GetFinalizers(), []string{"orphan"}) {
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
			`Operation cannot be fulfilled on Widget.example.com "d": the UID in the precondition (x) does not match the UID in record (` + string(d.GetUID()) + `). The object might have been deleted and then recreated`},
		{"resourceVersion", "/d", `{"preconditions":{"resourceVersion":"1"}}`, 409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on Widget.example.com "d": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (` + d.GetResourceVersion() + `). The object might have been modified`},
		{"both policies", "/d", `{"orphanDependents":true,"propagationPolicy":"Orphan"}`, 422,
			metav1.StatusReasonInvalid,
			`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`},
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
		f.scope.finalize = func(obj runtime.Object) bool {
			m := accessor(obj)
			if m.GetDeletionTimestamp() != nil {
				return false
			}
			now := metav1.Now()
			m.SetDeletionTimestamp(&now)
			m.SetFinalizers(append(m.GetFinalizers(), "example.com/cleanup"))
			return true
		}
		f.scope.inEffect = func(_ context.Context, name string) error {
			waited = append(waited, name)
			return errors.New("not yet")
		}
	})
	obj := f.created("a", "")
	f.del("/a", `{"preconditions":{"uid":"x"}}`).fails(409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on widgets.example.com "a": precondition failed: UID in precondition: x, UID in object meta: `+string(obj.GetUID()))
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
		left, err := f.scope.deleteInstance(t.Context(), key)
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
