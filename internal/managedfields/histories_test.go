package managedfields

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// managers are the two implementations for an endpoint. They must have the same results.
type managers struct{ fast, library Manager }

func newManagers(t testing.TB, version, subresource string) managers {
	t.Helper()
	config := configOf(t, version, subresource)
	library, err := NewLibrary(config)
	if err != nil {
		t.Fatal(err)
	}
	return managers{fast: newFast(config, library), library: library}
}

// allManagers returns the managers of v1, of its status, and of v2.
func allManagers(t testing.TB) []managers {
	t.Helper()
	return []managers{newManagers(t, "v1", ""), newManagers(t, "v1", "status"), newManagers(t, "v2", "")}
}

// step makes one write of a history and returns the resulting object. live is nil if the object does not exist.
func (m managers) step(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	if c.of(2) == 0 {
		return m.update(t, c, live)
	}
	return m.apply(t, c, live)
}

func (m managers) update(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	obj := invented(t, c, true)
	if live != nil && c.of(4) > 0 {
		obj = live.DeepCopy()
		for range c.of(4) {
			edit(c, obj.Object)
		}
		if c.of(4) == 0 {
			spoil(c, obj)
		}
	} else if live == nil {
		live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(),
			"kind": obj.GetKind()}}
	} else if c.of(3) > 0 {
		obj.Object["metadata"] = live.DeepCopy().Object["metadata"]
		spoil(c, obj)
	}
	return m.updateTo(t, live, obj, pick(c, "one", "two", "kubectl", "", fmt.Sprint("many", c.of(20))))
}

// updateTo updates an object with both managers and compares the results.
func (m managers) updateTo(t *testing.T, live, obj *unstructured.Unstructured,
	manager string) *unstructured.Unstructured {
	passed, before := live.DeepCopy(), live.DeepCopy()
	got, err := m.fast.Update(t.Context(), passed, obj.DeepCopy(), manager)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.library.Update(t.Context(), live.DeepCopy(), obj.DeepCopy(), manager)
	if err != nil {
		t.Fatal(err)
	}
	unmodified(t, passed, before)
	return same(t, got, want)
}

func (m managers) apply(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	applied := invented(t, c, c.of(4) == 0)
	if live == nil {
		live = noMachine()
		for range c.of(4) {
			edit(c, applied.Object)
		}
		if c.of(8) == 0 {
			delete(applied.Object, "metadata")
		}
	}
	return m.applyConfig(t, live, applied, pick(c, "one", "two", "kubectl"), c.of(2) == 0)
}

// applyConfig applies a configuration with both managers and compares the results.
func (m managers) applyConfig(
	t *testing.T, live, applied *unstructured.Unstructured, manager string, force bool,
) *unstructured.Unstructured {
	passed, before := live.DeepCopy(), live.DeepCopy()
	got, err := m.fast.Apply(t.Context(), passed, applied.DeepCopy(), manager, force)
	want, wantErr := m.library.Apply(t.Context(), live.DeepCopy(), applied.DeepCopy(), manager, force)
	unmodified(t, passed, before)
	if (err == nil) != (wantErr == nil) || err != nil && !sameError(err, wantErr) {
		t.Fatalf("got error %v\nwant %v", err, wantErr)
	}
	if err != nil {
		if live.GetUID() == "" {
			return nil
		}
		return live
	}
	return same(t, got, want)
}

// sameError compares errors as clients see them. The library lists conflicts in random order, and stops listing type
// errors of an object at the first undeclared field.
func sameError(a, b error) bool {
	const undeclared = "field not declared in schema"
	if strings.Contains(a.Error(), undeclared) && strings.Contains(b.Error(), undeclared) {
		return true
	}
	letters := func(err error) (counts [256]int) {
		text, _ := json.Marshal(err)
		for _, letter := range append(text, err.Error()...) {
			counts[letter]++
		}
		return counts
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && letters(a) == letters(b)
}

func unmodified(t *testing.T, live, before *unstructured.Unstructured) {
	t.Helper()
	if !reflect.DeepEqual(live, before) {
		t.Fatalf("the live object was modified: %v\nit was %v", live, before)
	}
}

func same(t *testing.T, got, want runtime.Object) *unstructured.Unstructured {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	obj := want.(*unstructured.Unstructured)
	obj.SetUID("uid") // from now on it exists
	return obj
}

// FuzzFieldManager makes every write of a history with the fast manager and with the library. The objects, their
// managed fields and the conflicts must be the same, and live objects must not be modified.
func FuzzFieldManager(f *testing.F) {
	all := allManagers(f)
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		f.Add(randomSeed(random))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := choices(seed)
			var live *unstructured.Unstructured
			for len(c) > 0 {
				m := all[0]
				if live != nil {
					m = pick(&c, all[0], all[0], all[1], all[2])
				}
				live = m.step(t, &c, live)
				time.Sleep(time.Duration(c.of(3)) * 700 * time.Millisecond) // managed fields have times in seconds
			}
		})
	})
}

// FuzzWithoutMetadata updates objects with malformed metadata.
func FuzzWithoutMetadata(f *testing.F) {
	all := allManagers(f)
	for _, text := range []string{`{}`, `{"spec":{}}`, `{"metadata":null}`, `{"metadata":{}}`, `{"metadata":[]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		obj := &unstructured.Unstructured{}
		if utiljson.Unmarshal([]byte(text), &obj.Object) != nil || obj.Object == nil {
			return
		}
		live := noMachine()
		obj.Object["apiVersion"], obj.Object["kind"] = "example.com/v1", "Machine"
		synctest.Test(t, func(t *testing.T) { // managed fields have times in seconds
			got, err := all[0].fast.Update(t.Context(), live.DeepCopy(), obj.DeepCopy(), "one")
			if err != nil {
				t.Fatal(err)
			}
			want, err := all[0].library.Update(t.Context(), live.DeepCopy(), obj.DeepCopy(), "one")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
		})
	})
}

// FuzzReapply is FuzzFieldManager for usual controllers: they apply the same configuration again with other values,
// while other managers update the object.
func FuzzReapply(f *testing.F) {
	all := allManagers(f)
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		f.Add(randomSeed(random))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := choices(seed)
			obj := usual(t)
			live := all[0].updateTo(t, noMachine(), obj, "one")
			for len(c) > 0 {
				manager := pick(&c, "one", "two", "three")
				next := live.DeepCopy()
				if c.of(3) > 0 {
					next.Object = config(live, manager)
					revalue(&c, next.Object)
					live = all[0].applyConfig(t, live, next, manager, c.of(5) > 0)
				} else {
					revalue(&c, next.Object)
					live = pick(&c, all[0], all[0], all[1]).updateTo(t, live, next, manager)
				}
				time.Sleep(time.Duration(c.of(3)) * 700 * time.Millisecond) // managed fields have times in seconds
			}
		})
	})
}
