package builtin_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// write is a write of a built-in resource, and the outcome that its strategy decides.
type write struct {
	name string
	// resource is the plural, with the subresource if the write is one of it.
	resource string
	// old is the object that is updated; empty for a create.
	old, obj string
	// errors as "path: message".
	errors   []string
	warnings []string
	// stored is the whole new object, if it is worth a check.
	stored string
}

// TestRules plays the writes on the strategies of the table.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, writes := range [][]write{namespaceWrites, configMapWrites, secretWrites, quotaWrites, rbacWrites,
		otherWrites(), networkWrites, volumeWrites, deviceWrites} {
		for _, w := range writes {
			t.Run(w.resource+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				got := w.play(t)
				if diff := cmp.Diff(w.errors, got.errors); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(w.warnings, got.warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				if w.stored != "" && w.stored != got.stored {
					t.Errorf("stored\n%s, want\n%s", got.stored, w.stored)
				}
			})
		}
	}
}

// play runs the strategy as the handler does, and returns the write with its outcome.
func (w write) play(t *testing.T) write {
	d, strategy := find(t, w.resource)
	obj := decode(t, d, w.obj)
	if w.old == "" {
		strategy.PrepareForCreate(t.Context(), obj)
		w.errors = words(strategy.Validate(t.Context(), obj))
		w.warnings = strategy.WarningsOnCreate(t.Context(), obj)
	} else {
		old := restored(t, d, decode(t, d, w.old))
		strategy.PrepareForUpdate(t.Context(), obj, old)
		w.errors = words(strategy.ValidateUpdate(t.Context(), obj, old))
		w.warnings = strategy.WarningsOnUpdate(t.Context(), obj, old)
	}
	strategy.Canonicalize(obj)
	w.stored = encode(t, obj)
	return w
}

// find returns the row of a resource, and the strategy of the resource or its subresource.
func find(t *testing.T, name string) (*resource.Definition, resource.Strategy) {
	t.Helper()
	for _, d := range builtin.All() {
		if d.Plural == name {
			return d, d.Strategy
		}
		for _, sub := range d.Subresources {
			if d.Plural+"/"+sub.Name == name {
				return d, sub.Strategy
			}
		}
	}
	t.Fatalf("the table has no %s", name)
	return nil, nil
}

// decode returns an object with its defaults. Objects of namespaced resources are in the namespace "default" and have
// been read at a revision, unless they say otherwise.
func decode(t *testing.T, d *resource.Definition, text string) runtime.Object {
	t.Helper()
	obj := reflect.New(reflect.TypeOf(d.Object).Elem()).Interface().(runtime.Object)
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	if d.Namespaced {
		m.SetNamespace("default")
	}
	m.SetResourceVersion("1")
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	if d.Default != nil {
		d.Default(obj)
	}
	return obj
}

// set has the codecs of the table.
var set = sync.OnceValues(func() (*builtin.Set, error) { return builtin.NewSet(builtin.All()) })

// restored returns an object as it is after it has been stored.
func restored(t *testing.T, d *resource.Definition, obj runtime.Object) runtime.Object {
	t.Helper()
	all, err := set()
	if err != nil {
		t.Fatal(err)
	}
	codec := all.Codec(d)
	_, view, err := codec.Encode(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	if obj, err = codec.Decode(view, 1); err != nil {
		t.Fatal(err)
	}
	return obj
}

// encode returns the JSON of an object without what decode has added.
func encode(t *testing.T, obj runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	m.SetNamespace("")
	m.SetResourceVersion("")
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// words returns each error once, as kube-apiserver does.
func words(errs field.ErrorList) (all []string) {
	if len(errs) == 0 {
		return nil
	}
	for _, err := range errs.ToAggregate().Errors() {
		all = append(all, err.Error())
	}
	return all
}
