package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// patience is a context that is done when it has been looked at often enough.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedFields holds that the library can be interrupted wherever it is, and does the same as ever after that.
func TestInterruptedFields(t *testing.T) {
	all := allManagers(t)
	one := customResourceFieldManager{library: all[0].ours.(customResourceFieldManager).library} // nothing is done without it
	before := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Machine"}}
	obj := usual(t)
	live := all[0].library.UpdateNoErrors(before.DeepCopy(), obj.DeepCopy(), "one").(*unstructured.Unstructured)
	live.SetUID("uid")
	less := obj.DeepCopy()
	less.Object["spec"] = map[string]any{"replicas": int64(7), "parts": []any{}}
	applied := apply(t, all[0].library, live, obj, "one", "two")
	otherwise := obj.DeepCopy()
	otherwise.SetAPIVersion("example.com/v2")
	appliedOtherwise := apply(t, all[2].library, live, otherwise, "two")
	for name, change := range map[string]func(ctx context.Context) (runtime.Object, error){
		"apply that leaves fields": func(ctx context.Context) (runtime.Object, error) {
			return one.Apply(ctx, applied.DeepCopy(), less.DeepCopy(), "two", true)
		},
		"apply that leaves fields of another version": func(ctx context.Context) (runtime.Object, error) {
			return one.Apply(ctx, appliedOtherwise.DeepCopy(), less.DeepCopy(), "two", true)
		},
		"create": func(ctx context.Context) (runtime.Object, error) {
			return one.Update(ctx, before.DeepCopy(), obj.DeepCopy(), "one")
		},
		"update": func(ctx context.Context) (runtime.Object, error) {
			return one.Update(ctx, live.DeepCopy(), less.DeepCopy(), "two")
		},
		"first apply": func(ctx context.Context) (runtime.Object, error) {
			return one.Apply(ctx, before.DeepCopy(), obj.DeepCopy(), "two", true)
		},
		"apply": func(ctx context.Context) (runtime.Object, error) {
			return one.Apply(ctx, live.DeepCopy(), less.DeepCopy(), "two", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // times count in seconds
				interruptedEverywhere(t, 50, change)
			})
		})
	}
}

// interruptedEverywhere has a change end after one look at its context, after two and so on, until it is through with it. It must look that
// many times at least.
func interruptedEverywhere(t *testing.T, least int, change func(ctx context.Context) (runtime.Object, error)) {
	t.Helper()
	want, err := change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for ; ; looks += 1 + looks/20 {
		got, err := change(&patience{t.Context(), looks})
		if err == nil {
			same(t, got, want)
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if looks < least {
		t.Errorf("interrupted at %d places only", looks)
	}
}

// apply returns an object after some have applied a configuration to it.
func apply(t *testing.T, library *managedfields.FieldManager, live, config *unstructured.Unstructured, managers ...string) *unstructured.Unstructured {
	t.Helper()
	for _, manager := range managers {
		applied, err := library.Apply(live.DeepCopy(), config.DeepCopy(), manager, true)
		if err != nil {
			t.Fatal(err)
		}
		live = applied.(*unstructured.Unstructured)
	}
	return live
}

// TestVersionIsShown holds that what the library makes of an object comes back to us when it wants a version of it, that which it has included, and that
// nothing of how it was shown is left then.
func TestVersionIsShown(t *testing.T) {
	obj := usual(t)
	types := managedTypes{allManagers(t)[0].ours.(customResourceFieldManager).updates.types}
	shown, err := types.ObjectToTyped(wrapped(t.Context(), obj))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := shown.Merge(shown)
	if err != nil {
		t.Fatal(err)
	}
	for what, made := range map[string]*typed.TypedValue{"merged": merged, "without items": shown.RemoveItems(fieldpath.NewSet())} {
		if version, ok := made.AsValue().AsMap().Get("apiVersion"); !ok || version.IsString() {
			t.Errorf("%s: the library can tell the version", what)
		}
		back, err := types.TypedToObject(made)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(unwrapped(back), obj) {
			t.Errorf("%s: got %v, want %v", what, unwrapped(back), obj)
		}
		again, err := types.ObjectToTyped(back)
		if err != nil {
			t.Fatal(err)
		}
		if _, ours := again.AsValue().(fieldValue); !ours || !value.Equals(again.AsValue(), shown.AsValue()) {
			t.Errorf("%s: got %v, want %v", what, again.AsValue(), shown.AsValue())
		}
	}
	want := value.NewValueInterface("example.com/v1")
	if version, ok := shown.AsValue().AsMap().Get("apiVersion"); !ok || fmt.Sprint(version) != fmt.Sprint(want) || !value.Equals(version, want) {
		t.Errorf("the version is shown as %v", version)
	}
}

// TestFieldValueText holds that the library's errors, which clients see, have values in them as ever.
func TestFieldValueText(t *testing.T) {
	for _, v := range []any{map[string]any{"a": int64(1)}, []any{"a", nil}, map[string]any(nil), nil, "text"} {
		for _, format := range []string{"%v", "%#v", "%+v", "%s", "%q"} {
			if got, want := fmt.Sprintf(format, fieldValueOf(t.Context(), v)), fmt.Sprintf(format, value.NewValueInterface(v)); got != want {
				t.Errorf("%s: got %s, want %s", format, got, want)
			}
		}
	}
}

// TestFieldMapZip holds that maps are walked side by side whatever made them.
func TestFieldMapZip(t *testing.T) {
	a, b := map[string]any{"x": int64(1), "y": int64(2)}, map[string]any{"y": int64(3), "z": map[string]any{}}
	ours := func(m map[string]any) value.Map { return fieldValueOf(t.Context(), m).AsMap() }
	library := func(m map[string]any) value.Map { return value.NewValueInterface(m).AsMap() }
	walk := func(left, right value.Map) map[string][2]any {
		seen := map[string][2]any{}
		value.MapZip(left, right, value.Unordered, func(name string, left, right value.Value) bool {
			var pair [2]any
			for n, v := range []value.Value{left, right} {
				if v != nil {
					pair[n] = v.Unstructured()
				}
			}
			seen[name] = pair
			return true
		})
		return seen
	}
	want := walk(library(a), library(b))
	for _, made := range [][2]func(map[string]any) value.Map{{ours, ours}, {ours, library}, {library, ours}} {
		if got := walk(made[0](a), made[1](b)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got, want := walk(nil, ours(a)), walk(nil, library(a)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
