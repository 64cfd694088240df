package crdhandler

import (
	"maps"
	"slices"
)

// extras are fields of every type that managed fields tell apart.
const extras = `{"type": "object", "properties": {
 "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
 "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}},
 "args": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}},
 "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
 "env": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
 "port": {"x-kubernetes-int-or-string": true},
 "ratio": {"type": "number"},
 "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
  "items": {"type": "object", "required": ["port"], "properties": {
   "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}},
 "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
 "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}`

// edit changes something in an object, mostly a little.
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
		metadata[pick(c, "uid", "generation", "resourceVersion", "creationTimestamp")] = pick[any](c, "1", int64(2), nil)
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
		"tags":     {[]any{"a"}, []any{"a", "b"}, []any{"b", "a"}, []any{"a", "a"}, []any{}, []any{nil}, "a"},
		"numbers":  {[]any{int64(1)}, []any{1.0}, []any{1.5}, []any{int64(2), int64(1)}},
		"args":     {[]any{m("a", int64(1))}, []any{m("a", 1.0)}, []any{m("a", 1.5), m("b", nil)}, []any{}, []any{m("a", int64(2))}},
		"selector": {m("a", "b"), m("a", "c"), map[string]any{}, m("a", int64(1))},
		"env":      {m("a", "b"), m("a", "c"), m("b", nil), map[string]any{}, m("a", int64(1))},
		"port":     {int64(1), "http", int64(2), 1.0},
		"ratio":    {int64(1), 1.0, 1.5, int64(2)},
		"ports": {
			[]any{map[string]any{"port": int64(1), "protocol": "TCP"}}, []any{map[string]any{"port": int64(1), "protocol": "TCP", "name": "a"}},
			[]any{map[string]any{"port": int64(1), "protocol": "UDP"}, map[string]any{"port": int64(1), "protocol": "TCP"}}, []any{m("port", int64(1))}, []any{m("name", "a")},
		},
		"any":      {m("a", m("b", "c")), m("a", m("b", "d")), m("a", []any{"b"}), m("a", []any{"c"}), m("a", nil), map[string]any{}},
		"template": {m("metadata", m("labels", m("a", "b"))), m("metadata", m("labels", m("a", "c"))), m("spec", m("a", int64(1)))},
	}
	names := slices.Sorted(maps.Keys(values))
	name := pick(c, names...)
	if value := pick(c, values[name]...); c.of(6) > 0 {
		inner[name] = value
	} else {
		delete(inner, name)
	}
}
