package crdhandler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestManyFields holds that large objects are owned and merged as the library would have it, too.
func TestManyFields(t *testing.T) {
	info := infoOf(t, &Config{Store: newStore(t, dynamicstorage.Options{Client: etcdOf(t)})}, twoVersions(t))
	version, err := info.version("v1")
	if err != nil {
		t.Fatal(err)
	}
	m := newManagers(t, info.versions["v1"].main, info, version.ResetFields())
	random := rand.New(rand.NewPCG(3, 4))
	large := func(from, to int) *unstructured.Unstructured {
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
			"apiVersion": "example.com/v1", "kind": info.versions["v1"].main.kind.Kind, "metadata": map[string]any{"name": "m", "namespace": "default"},
			"spec": map[string]any{"extras": map[string]any{"env": env, "tags": tags, "ports": ports}},
		}}
	}
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
			if ours := m.ours.(customResourceFieldManager); !ours.updates.update(live.DeepCopy(), got, manager) {
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
