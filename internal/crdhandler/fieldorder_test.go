package crdhandler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// large returns a machine with that many members and items, in no order.
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
		"apiVersion": "example.com/v1", "kind": "Machine", "metadata": map[string]any{"name": "m", "namespace": "default"},
		"spec": map[string]any{"extras": map[string]any{"env": env, "tags": tags, "ports": ports}},
	}}
}

// TestInterruptedWalks holds that our own way to managed fields can be interrupted all along, and does the same as ever after that.
func TestInterruptedWalks(t *testing.T) {
	ours := allManagers(t)[0].ours.(customResourceFieldManager)
	ours.library = nil // nothing is left to it
	none := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Machine"}}
	created, err := ours.Update(t.Context(), none.DeepCopy(), large(0, few+1), "one")
	if err != nil {
		t.Fatal(err)
	}
	live := created.(*unstructured.Unstructured)
	live.SetUID("uid")
	changed := large(1, few+2)
	changed.SetUID("uid")
	applied := large(0, few+1)
	if err := unstructured.SetNestedField(applied.Object, "y", "spec", "extras", "env", "e0"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(ctx context.Context) (runtime.Object, error){
		"create": func(ctx context.Context) (runtime.Object, error) {
			return ours.Update(ctx, none.DeepCopy(), large(0, few+1), "one")
		},
		"update": func(ctx context.Context) (runtime.Object, error) {
			return ours.Update(ctx, live.DeepCopy(), changed.DeepCopy(), "two")
		},
		"first apply": func(ctx context.Context) (runtime.Object, error) {
			return ours.Apply(ctx, none.DeepCopy(), large(0, few+1), "one", false)
		},
		"apply": func(ctx context.Context) (runtime.Object, error) {
			return ours.Apply(ctx, live.DeepCopy(), applied.DeepCopy(), "two", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // times count in seconds
				interruptedEverywhere(t, few*3/stepsAtOnce, change)
			})
		})
	}
}

// TestManyFields holds that large objects are owned and merged as the library would have it, too.
func TestManyFields(t *testing.T) {
	info := infoOf(t, &Config{Store: newStore(t, dynamicstorage.Options{Client: etcdOf(t)})}, twoVersions(t))
	version, err := info.version("v1")
	if err != nil {
		t.Fatal(err)
	}
	m := newManagers(t, info.versions["v1"].main, info, version.ResetFields())
	synctest.Test(t, func(t *testing.T) { // times count in seconds
		kind := info.versions["v1"].main.kind
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(kind)
		for n, obj := range []*unstructured.Unstructured{large(0, 2*few), large(few/2, 3*few), large(0, few), large(0, 2)} {
			obj.SetGroupVersionKind(kind)
			if n > 0 {
				obj.Object["metadata"] = live.DeepCopy().Object["metadata"]
			}
			manager := fmt.Sprint("manager", n)
			got := obj.DeepCopy()
			if ours := m.ours.(customResourceFieldManager); !ours.updates.update(t.Context(), live.DeepCopy(), got, manager) {
				t.Fatal("what is usual is left to the library")
			}
			live = same(t, got, m.library.UpdateNoErrors(live.DeepCopy(), obj.DeepCopy(), manager))
			live.SetUID("u")
		}
		none := &unstructured.Unstructured{}
		none.SetGroupVersionKind(kind)
		for n, applier := range []string{"one", "one", "one", "two", "kubectl"} {
			live = none
			for _, applied := range []*unstructured.Unstructured{large(0, few+1), large(1, few+2), large(0, 2)} {
				applied.SetGroupVersionKind(kind)
				extras := applied.Object["spec"].(map[string]any)["extras"].(map[string]any)
				switch n {
				case 1:
					extras["any"] = map[string]any{"a": extras["env"]}
				case 2:
					applied.Object["spec"].(map[string]any)["paused"] = nil
				case 3:
					live = m.applyConfig(t, live, large(2, few+3), "other", true)
				}
				live = m.applyConfig(t, live, applied, applier, true)
			}
		}
	})
}
