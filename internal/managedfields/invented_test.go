package managedfields

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// choices is a source of decisions made from random bytes. At its end every decision is the first option.
type choices []byte

func (c *choices) of(n int) int {
	if len(*c) == 0 {
		return 0
	}
	first := int((*c)[0])
	*c = (*c)[1:]
	return first % n
}

func pick[T any](c *choices, from ...T) T { return from[c.of(len(from))] }

func randomSeed(random *rand.Rand) []byte {
	seed := make([]byte, 60)
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	return seed
}

// machine returns a machine as a client sends it.
func machine(t *testing.T, replicas int) *unstructured.Unstructured {
	t.Helper()
	parts := make([]any, 8)
	for i := range parts {
		parts[i] = map[string]any{"name": fmt.Sprint("part-", i),
			"image": fmt.Sprintf("registry.example.com/team/part-%d:1.1", i), "port": int64(8080 + i)}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Machine",
		"metadata": map[string]any{"name": "m", "namespace": "ns",
			"labels": map[string]any{"app.kubernetes.io/name": "machine", "shard": "s1"}},
		"spec": map[string]any{"replicas": int64(replicas), "maxReplicas": int64(1000000000), "parts": parts},
	}}
}

// usual returns a machine with all extras.
func usual(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	obj := machine(t, 1)
	more := map[string]any{}
	if err := utiljson.Unmarshal([]byte(`{"tags":["a","b"],"args":[{"a":1}],"selector":{"a":"b"},"env":{"a":"b","c":"d"},
"port":1,"ratio":1.5,
"ports":[{"port":1,"protocol":"TCP","name":"a"},{"port":1,"protocol":"UDP","name":"b"}],"any":{"a":{"b":"c"},"d":["e"]},
"template":{"metadata":{"labels":{"a":"b"}}}}`), &more); err != nil {
		t.Fatal(err)
	}
	obj.Object["spec"].(map[string]any)["extras"] = more
	return obj
}

// revalue changes values in an object, and sometimes adds or removes a few.
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

// config returns the part of an object that a manager applies.
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

// invented returns a random machine, complete or as a manager might apply it.
func invented(t *testing.T, c *choices, complete bool) *unstructured.Unstructured {
	obj := machine(t, c.of(4))
	spec := obj.Object["spec"].(map[string]any)
	spec["parts"] = spec["parts"].([]any)[c.of(3) : 3+c.of(5)]
	if !complete {
		delete(spec, pick(c, "replicas", "maxReplicas", "parts"))
		delete(obj.Object["metadata"].(map[string]any), "labels")
	}
	switch c.of(8) {
	case 1:
		obj.SetFinalizers([]string{"example.com/" + pick(c, "a", "b")})
	case 2:
		obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": lastApplied(t, c)})
	case 3:
		obj.Object["status"] = map[string]any{"phase": "Running",
			"conditions": []any{map[string]any{"type": "A<&>", "status": "True"}}}
	case 4:
		obj.SetAPIVersion("example.com/" + pick(c, "v1", "v2", "v3"))
	case 5:
		spec["parts"] = []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}} // a duplicate key
	case 6:
		spec["replicas"] = "many" // a wrong type
	case 7:
		obj.SetOwnerReferences(nil)
		spec["unknown"] = map[string]any{"a": int64(1)}
	}
	return obj
}

// spoil changes the managed fields of an object in a way that a client might.
func spoil(c *choices, obj *unstructured.Unstructured) {
	metadata := obj.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	switch c.of(12) {
	case 1:
		delete(metadata, "managedFields")
	case 2:
		metadata["managedFields"] = []any{}
	case 3:
		metadata["managedFields"] = []any{map[string]any{}}
	case 4:
		metadata["managedFields"] = pick[any](c, nil, "text", []any{"text"}, []any{nil}, map[string]any{})
	case 5:
		if len(entries) == 0 {
			return
		}
		entry := entries[c.of(len(entries))].(map[string]any)
		name := pick(c, "manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource", "other")
		entry[name] = pick[any](c, nil, "", "text", int64(1), map[string]any{}, "Apply", "example.com/v2",
			"2026-01-01T00:00:00+01:00",
			"0001-01-01T00:00:00Z", map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
			map[string]any{"x": int64(1)})
	case 6:
		if len(entries) > 0 {
			metadata["managedFields"] = entries[1:]
		}
	}
}

// edit changes a part of an object, usually a small one.
func edit(c *choices, obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	metadata, _ := obj["metadata"].(map[string]any)
	status, _ := obj["status"].(map[string]any)
	parts, _ := spec["parts"].([]any)
	if spec == nil || metadata == nil {
		return
	}
	switch c.of(14) {
	case 0:
		spec["replicas"] = int64(c.of(5))
	case 1:
		spec["paused"] = c.of(2) == 0
	case 2:
		if len(parts) > 0 {
			if part, ok := parts[c.of(len(parts))].(map[string]any); ok {
				part[pick(c, "image", "image", "name", "protocol")] = pick[any](c, "a", "b", "TCP", nil)
			}
		}
	case 3:
		metadata["labels"] = pick[any](c, map[string]any{"a": "b"}, map[string]any{"a": "c"}, map[string]any{}, nil)
	case 4:
		metadata[pick(c, "uid", "generation", "resourceVersion", "creationTimestamp")] = pick[any](c, "1", int64(2),
			nil)
	case 5:
		if status == nil {
			status = map[string]any{}
			obj["status"] = status
		}
		status["phase"] = pick[any](c, "Running", "Pending")
		status["conditions"] = []any{map[string]any{"type": pick(c, "A", "B"), "status": pick(c, "True", "False")}}
	case 6:
		delete(spec, pick(c, "replicas", "parts", "extras", "strategy"))
	case 7:
		slices.Reverse(parts)
	case 8:
		if len(parts) > 0 {
			spec["parts"] = parts[:c.of(len(parts))]
		}
	case 9:
		metadata["finalizers"] = []any{"example.com/" + pick(c, "a", "b"), "example.com/" + pick(c, "b", "c")}
	default:
		inner, ok := spec["extras"].(map[string]any)
		if !ok {
			inner = map[string]any{}
			spec["extras"] = inner
		}
		editExtras(c, inner)
	}
}

// editExtras changes one of the extras.
func editExtras(c *choices, inner map[string]any) {
	m := func(name string, value any) map[string]any { return map[string]any{name: value} }
	values := map[string][]any{
		"tags":    {[]any{"a"}, []any{"a", "b"}, []any{"b", "a"}, []any{"a", "a"}, []any{}, []any{nil}, "a"},
		"numbers": {[]any{int64(1)}, []any{1.0}, []any{1.5}, []any{int64(2), int64(1)}},
		"args": {[]any{m("a", int64(1))}, []any{m("a", 1.0)}, []any{m("a", 1.5), m("b", nil)}, []any{},
			[]any{m("a", int64(2))}},
		"selector": {m("a", "b"), m("a", "c"), map[string]any{}, m("a", int64(1))},
		"env":      {m("a", "b"), m("a", "c"), m("b", nil), map[string]any{}, m("a", int64(1))},
		"port":     {int64(1), "http", int64(2), 1.0},
		"ratio":    {int64(1), 1.0, 1.5, int64(2)},
		"ports": {
			[]any{map[string]any{"port": int64(1), "protocol": "TCP"}},
			[]any{map[string]any{"port": int64(1), "protocol": "TCP", "name": "a"}},
			[]any{map[string]any{"port": int64(1), "protocol": "UDP"},
				map[string]any{"port": int64(1), "protocol": "TCP"}}, []any{m("port", int64(1))}, []any{m("name", "a")},
		},
		"any": {m("a", m("b", "c")), m("a", m("b", "d")), m("a", []any{"b"}), m("a", []any{"c"}), m("a", nil),
			map[string]any{}},
		"template": {m("metadata", m("labels", m("a", "b"))), m("metadata", m("labels", m("a", "c"))),
			m("spec", m("a", int64(1)))},
	}
	names := slices.Sorted(maps.Keys(values))
	name := pick(c, names...)
	if value := pick(c, values[name]...); c.of(6) > 0 {
		inner[name] = value
	} else {
		delete(inner, name)
	}
}

func lastApplied(t *testing.T, c *choices) string {
	t.Helper()
	text, err := machine(t, c.of(4)).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
