package managedfields

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

var errLibraryCalled = errors.New("the library was called")

// noLibrary is a Manager that fails, for writes that the fast manager must handle without the library.
type noLibrary struct{}

func (noLibrary) Update(ctx context.Context, _, _ runtime.Object, _ string) (runtime.Object, error) {
	return nil, errors.Join(errLibraryCalled, ctx.Err())
}

func (noLibrary) Apply(ctx context.Context, _, _ runtime.Object, _ string, _ bool) (runtime.Object, error) {
	return nil, errors.Join(errLibraryCalled, ctx.Err())
}

// TestFastPathsAreChosenByTag checks that New returns a fast manager unless the tag "library" is set.
func TestFastPathsAreChosenByTag(t *testing.T) {
	t.Parallel()
	manager, err := New(configOf(t, "v1", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, fast := manager.(*fastManager); fast != fastPaths {
		t.Errorf("got %T, fast paths are %t", manager, fastPaths)
	}
}

// TestUsualWritesNeedNoLibrary checks that the fast manager handles usual writes itself, with the result of the
// library.
func TestUsualWritesNeedNoLibrary(t *testing.T) {
	t.Parallel()
	config := configOf(t, "v1", "")
	library, err := NewLibrary(config)
	if err != nil {
		t.Fatal(err)
	}
	m := managers{fast: newFast(config, noLibrary{}), library: library}
	changed := func(obj *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
		obj = obj.DeepCopy()
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	synctest.Test(t, func(t *testing.T) { // managed fields contain times
		obj := m.updateTo(t, noMachine(), usual(t), "creator")
		obj = m.updateTo(t, obj, changed(obj, int64(5), "spec", "replicas"), "creator")
		obj = m.updateTo(t, obj, changed(obj, int64(6), "spec", "replicas"), "other")
		obj = m.updateTo(t, obj, changed(obj, true, "spec", "paused"), "other")
		parts, _, _ := unstructured.NestedSlice(obj.Object, "spec", "parts")
		obj = m.updateTo(t, obj, changed(obj, parts[:5], "spec", "parts"), "other")
		obj = m.updateTo(t, obj, changed(obj, "Running", "status", "phase"), "controller")
		m.updateTo(t, obj, obj, "controller")

		config := machine(t, 1)
		obj = m.applyConfig(t, noMachine(), config, "applier", false)
		obj = m.applyConfig(t, obj, config, "applier", false)
		obj = m.applyConfig(t, obj, changed(config, int64(2), "spec", "replicas"), "applier", false)
		obj = m.applyConfig(t, obj, changed(config, true, "spec", "paused"), "applier", false)
		more := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Machine",
			"metadata": map[string]any{"name": "m", "namespace": "ns"},
			"spec":     map[string]any{"extras": map[string]any{"tags": []any{"b", "a"}}, "replicas": int64(9)},
		}}
		obj = m.applyConfig(t, obj, more, "other", true)
		m.updateTo(t, obj, changed(obj, int64(3), "spec", "replicas"), "creator")
	})
}

// countdown is a context that is done after Err was called so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

const manyItems = 700

// large returns a machine with many members and items, in random order.
func large(from, to int) *unstructured.Unstructured {
	random := rand.New(rand.NewPCG(uint64(from), uint64(to)))
	env, tags, ports := map[string]any{}, []any{}, []any{}
	for i := from; i < to; i++ {
		env[fmt.Sprint("e", i)] = "x"
		tags = append(tags, fmt.Sprint("t", i))
		ports = append(ports, map[string]any{"port": int64(i), "protocol": "TCP"})
	}
	for _, list := range [][]any{tags, ports} {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Machine",
		"metadata": map[string]any{"name": "m", "namespace": "default"},
		"spec":     map[string]any{"extras": map[string]any{"env": env, "tags": tags, "ports": ports}},
	}}
}

// TestWalksEndWithTheirContext checks that walks end soon after the context is done, wherever they are.
func TestWalksEndWithTheirContext(t *testing.T) {
	t.Parallel()
	m := newFast(configOf(t, "v1", ""), noLibrary{})
	created, err := m.Update(t.Context(), noMachine(), large(0, manyItems), "one")
	if err != nil {
		t.Fatal(err)
	}
	live := created.(*unstructured.Unstructured)
	live.SetUID("uid")
	changed := large(1, manyItems+1)
	changed.SetUID("uid")
	applied := large(0, manyItems)
	if err := unstructured.SetNestedField(applied.Object, "y", "spec", "extras", "env", "e0"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(ctx context.Context) (runtime.Object, error){
		"create": func(ctx context.Context) (runtime.Object, error) {
			return m.Update(ctx, noMachine(), large(0, manyItems), "one")
		},
		"update": func(ctx context.Context) (runtime.Object, error) {
			return m.Update(ctx, live.DeepCopy(), changed.DeepCopy(), "two")
		},
		"first apply": func(ctx context.Context) (runtime.Object, error) {
			return m.Apply(ctx, noMachine(), large(0, manyItems), "one", false)
		},
		"apply": func(ctx context.Context) (runtime.Object, error) {
			return m.Apply(ctx, live.DeepCopy(), applied.DeepCopy(), "two", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // managed fields contain times
				want, err := change(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				checks := 0
				got, err := change(&countdown{t.Context(), checks})
				for ; err != nil; got, err = change(&countdown{t.Context(), checks}) {
					if !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
					checks++
				}
				if checks < 3*manyItems/visitsPerCheck {
					t.Errorf("the context was checked only %d times", checks)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		})
	}
}

// TestManyFields compares the two managers on large objects in random order.
func TestManyFields(t *testing.T) {
	t.Parallel()
	config := configOf(t, "v1", "")
	library, err := NewLibrary(config)
	if err != nil {
		t.Fatal(err)
	}
	m := managers{fast: newFast(config, noLibrary{}), library: library}
	synctest.Test(t, func(t *testing.T) { // managed fields contain times
		live := noMachine()
		for n, obj := range []*unstructured.Unstructured{large(0, 1000), large(250, 1500), large(0, 500), large(0, 2)} {
			if n > 0 {
				obj.Object["metadata"] = live.DeepCopy().Object["metadata"]
			}
			live = m.updateTo(t, live, obj, fmt.Sprint("manager", n))
		}
	})
	m.fast = newFast(config, library)
	for name, applier := range map[string]string{"fields": "one", "unknown fields": "one", "null": "one",
		"another manager": "two", "kubectl": "kubectl"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := noMachine()
				for _, applied := range []*unstructured.Unstructured{large(0, 501), large(1, 502), large(0, 2)} {
					spec := applied.Object["spec"].(map[string]any)
					extras := spec["extras"].(map[string]any)
					switch name {
					case "unknown fields":
						extras["any"] = map[string]any{"a": extras["env"]}
					case "null":
						spec["paused"] = nil
					case "another manager":
						live = m.applyConfig(t, live, large(2, 503), "other", true)
					}
					live = m.applyConfig(t, live, applied, applier, true)
				}
			})
		})
	}
}
