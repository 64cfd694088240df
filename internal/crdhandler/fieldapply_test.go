package crdhandler

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// usual is a machine with all extras.
func usual(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(machine("m", 1)), &obj.Object); err != nil {
		t.Fatal(err)
	}
	more := map[string]any{}
	if err := utiljson.Unmarshal([]byte(`{"tags":["a","b"],"args":[{"a":1}],"selector":{"a":"b"},"env":{"a":"b","c":"d"},"port":1,"ratio":1.5,
"ports":[{"port":1,"protocol":"TCP","name":"a"},{"port":1,"protocol":"UDP","name":"b"}],"any":{"a":{"b":"c"},"d":["e"]},
"template":{"metadata":{"labels":{"a":"b"}}}}`), &more); err != nil {
		t.Fatal(err)
	}
	obj.Object["spec"].(map[string]any)["extras"] = more
	return obj
}

// revalue changes values in an object, and sometimes a little more.
func revalue(c *choices, obj map[string]any) {
	spec := obj["spec"].(map[string]any)
	inner, _ := spec["extras"].(map[string]any)
	parts, _ := spec["parts"].([]any)
	metadata := obj["metadata"].(map[string]any)
	switch kind := c.of(9); {
	case kind == 0 && len(parts) > 0:
		parts[c.of(len(parts))].(map[string]any)["image"] = pick(c, "a", "b", "c")
	case kind == 1 && inner != nil:
		inner["env"] = map[string]any{"a": pick(c, "b", "c"), "c": "d"}
		inner["selector"] = map[string]any{"a": pick(c, "b", "c")}
	case kind == 2 && inner != nil:
		inner["args"] = []any{map[string]any{"a": int64(c.of(3))}}
		inner["port"] = pick[any](c, int64(1), int64(2), "http")
	case kind == 3 && inner != nil:
		inner["any"] = map[string]any{"a": map[string]any{"b": pick(c, "c", "d")}, "d": []any{pick(c, "e", "f")}}
		inner["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": pick(c, "b", "c")}}}
	case kind == 4:
		metadata["labels"] = map[string]any{"app.kubernetes.io/name": pick(c, "a", "b"), "shard": "s1"}
	case kind == 5 && inner != nil:
		editExtras(c, inner)
	case kind == 6:
		edit(c, obj)
	default:
		spec["replicas"] = int64(c.of(5))
	}
}

// config is the part of an object that a manager applies.
func config(live *unstructured.Unstructured, manager string) map[string]any {
	obj := live.DeepCopy().Object
	metadata, _ := obj["metadata"].(map[string]any)
	spec, _ := obj["spec"].(map[string]any)
	named := map[string]any{"name": metadata["name"], "namespace": metadata["namespace"]}
	if labels, ok := metadata["labels"]; ok && manager != "two" {
		named["labels"] = labels
	}
	if manager == "two" {
		spec = map[string]any{"replicas": spec["replicas"], "extras": spec["extras"]}
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	return map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": named, "spec": spec}
}

// FuzzWithoutMetadata holds that an object may be anything, as a malformed one of a cluster-scoped resource is.
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
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Machine"}}
		obj.Object["apiVersion"], obj.Object["kind"] = "example.com/v1", "Machine"
		synctest.Test(t, func(t *testing.T) { // times count in seconds
			got, err := all[0].ours.Update(t.Context(), live.DeepCopy(), obj.DeepCopy(), "one")
			if err != nil {
				t.Fatal(err)
			}
			if want := all[0].library.UpdateNoErrors(live.DeepCopy(), obj.DeepCopy(), "one"); !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
		})
	})
}

// FuzzReapply is FuzzFieldManager for what controllers do: to apply what they have applied before, with other values, while others
// update the object.
func FuzzReapply(f *testing.F) {
	all := allManagers(f)
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		f.Add(randomSeed(random))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		synctest.Test(t, func(t *testing.T) {
			c := choices(seed)
			obj := usual(t)
			live := all[0].updateTo(t, &unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind()}}, obj, "one")
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
				time.Sleep(time.Duration(c.of(3)) * 700 * time.Millisecond) // times count in seconds
			}
		})
	})
}
