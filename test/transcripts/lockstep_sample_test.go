package transcripts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// misfits are values that few schemas allow.
var misfits = []any{nil, "misfit", 7, 1.5, true, []any{}, map[string]any{}, []any{nil}, []any{map[string]any{"a": 1}},
	map[string]any{"a": nil}, json.Number("1e2")}

var (
	words   = []string{"", "a", "b", "c", "left", "ü\"<", "True", "1"}
	mapKeys = []string{"a", "b", "c", "x", "y", "k/ey", "k~ey", "f:a", "."}
	numbers = []any{0, 1, 2, 5, 8, 41, -1, 70, json.Number("3.0"), json.Number("12345678901"), json.Number("1e1"),
		json.Number("1e6")}
	fraction = []any{0, 1, 1.5, -2.25, json.Number("2.0"), json.Number("1e3"), json.Number("0.1"), json.Number("-0.0")}
	free     = []any{"free", 3, 2.5, true, nil, []any{"q", 1, nil}, map[string]any{"p": map[string]any{"q": 1}},
		map[string]any{}, []any{map[string]any{"name": "n"}}}
)

// sample returns a random value of a schema, sometimes one that does not fit.
func sample(random *rand.Rand, schema map[string]any) any {
	if chance(random, 2) {
		return copyOf(pick(random, misfits))
	}
	if enum, ok := schema["enum"].([]any); ok && chance(random, 95) {
		return pick(random, enum)
	}
	if schema["nullable"] == true && chance(random, 15) {
		return nil
	}
	switch kind := schema["type"]; {
	case schema["x-kubernetes-embedded-resource"] == true:
		return sampleEmbedded(random)
	case schema["x-kubernetes-int-or-string"] == true:
		return pick(random, []any{1, 80, "http", "80%", 0, ""})
	case kind == "object":
		return sampleObject(random, schema)
	case kind == "array":
		items, _ := schema["items"].(map[string]any)
		list := []any{}
		for range random.IntN(4) {
			list = append(list, sample(random, items))
		}
		return list
	case kind == "string" && schema["format"] == "date-time":
		return pick(random, []any{"2020-01-02T03:04:05Z", "2021-01-02T03:04:05+01:00", "yesterday"})
	case kind == "string":
		return pick(random, words)
	case kind == "integer":
		return pick(random, numbers)
	case kind == "number":
		return pick(random, fraction)
	case kind == "boolean":
		return chance(random, 50)
	default:
		return copyOf(pick(random, free))
	}
}

func sampleObject(random *rand.Rand, schema map[string]any) map[string]any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		often := 25
		if slices.Contains(required, any(name)) {
			often = 95
		} else if name == "spec" {
			often = 85
		}
		if name != "metadata" && chance(random, often) {
			object[name] = sample(random, properties[name].(map[string]any))
		}
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		for _, key := range some(random, 25, mapKeys) {
			object[key] = sample(random, values)
		}
	}
	if schema["x-kubernetes-preserve-unknown-fields"] == true {
		for _, key := range some(random, 20, mapKeys) {
			object[key] = copyOf(pick(random, free))
		}
		if len(properties) == 0 && chance(random, 50) {
			object["spec"] = map[string]any{"color": pick(random, words), "list": []any{random.IntN(3), random.IntN(3)}}
		}
	} else if chance(random, 2) {
		object["unknown"] = pick(random, free)
	}
	return object
}

func sampleEmbedded(random *rand.Rand) any {
	object := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": pick(random, free)}
	if chance(random, 70) {
		meta := map[string]any{"name": "n"}
		alterMeta(random, meta)
		object["metadata"] = meta
	}
	if chance(random, 10) {
		delete(object, pick(random, []string{"apiVersion", "kind"}))
	}
	return object
}

// alter changes a few values of a document to values that the schema allows or does not allow.
func alter(random *rand.Rand, document map[string]any, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(properties))
	values, _ := schema["additionalProperties"].(map[string]any)
	if values != nil {
		names = mapKeys
	}
	if len(names) == 0 {
		maps.Copy(document, sampleObject(random, schema))
		return
	}
	for range 1 + random.IntN(2) {
		name := pick(random, names)
		if name == "metadata" {
			continue
		}
		below, _ := properties[name].(map[string]any)
		if below == nil {
			below = values
		}
		inner, isMap := document[name].(map[string]any)
		switch {
		case chance(random, 15):
			delete(document, name)
		case isMap && chance(random, 90):
			alter(random, inner, below)
		default:
			document[name] = sample(random, below)
		}
	}
}

// alterMeta changes a field of metadata.
func alterMeta(random *rand.Rand, meta map[string]any) {
	switch random.IntN(14) {
	case 0, 1, 2:
		meta["labels"] = sampleWords(random)
	case 3, 4:
		meta["annotations"] = sampleWords(random)
	case 5:
		meta["finalizers"] = pick(random, []any{[]any{"example.com/f"}, []any{}, nil,
			[]any{"example.com/f", "example.com/g"}, []any{"example.com/f", "example.com/f"}, []any{"bad"}})
	case 6:
		owner := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": pick(random, []string{"o", "p"}),
			"uid": pick(random, []string{"1", "2"})}
		meta["ownerReferences"] = pick(random, []any{[]any{owner}, []any{}, []any{map[string]any{"name": "x"}},
			[]any{owner, owner}})
	case 7:
		meta["managedFields"] = pick(random, []any{[]any{}, []any{map[string]any{}}, nil,
			[]any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": lockstepGroup + "/v1",
				"fieldsType": "FieldsV1",
				"fieldsV1":   map[string]any{"f:spec": map[string]any{"f:color": map[string]any{}}}}},
			[]any{map[string]any{"manager": "m", "operation": "Other"}}, "x"})
	case 8:
		meta["generation"] = 77
	case 9:
		meta["creationTimestamp"] = pick(random, []any{nil, "2020-01-02T03:04:05Z", 3})
	case 10:
		meta[pick(random, []string{"selfLink", "generateName", "unknown", "deletionGracePeriodSeconds",
			"deletionTimestamp"})] = pick(random, []any{"x", nil, 5, "2020-01-02T03:04:05Z"})
	case 11:
		meta["uid"] = pick(random, []any{"", nil, "11111111-1111-1111-1111-111111111111"})
	case 12:
		meta["resourceVersion"] = pick(random, []any{"", nil, "1", "0", "x"})
	default:
		meta[pick(random, []string{"name", "namespace"})] = pick(random, []any{"other", "", nil})
	}
}

func sampleWords(random *rand.Rand) any {
	if chance(random, 8) {
		return pick(random, []any{nil, map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": 1},
			map[string]any{"a b": "c"}, []any{}})
	}
	object := map[string]any{}
	for _, key := range some(random, 40, []string{"a", "b", "example.com/c"}) {
		object[key] = pick(random, []string{"", "x", "y", "z"})
	}
	return object
}

// pointers returns the JSON pointers of a document's values, mostly below spec, status and metadata.
func pointers(value any, at string, found []string) []string {
	if at != "" {
		found = append(found, at)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "managedFields" {
				found = pointers(value[key], at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), found)
			}
		}
	case []any:
		for i := range value {
			found = pointers(value[i], at+"/"+strconv.Itoa(i), found)
		}
	}
	return found
}

// lookUp returns the value at a pointer.
func lookUp(value any, pointer string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		case []any:
			if i, err := strconv.Atoi(part); err == nil && i < len(inner) {
				value = inner[i]
			}
		}
	}
	return value
}

// copied returns a deep copy.
func copied(object map[string]any) map[string]any {
	return copyOf(object).(map[string]any)
}

func copyOf(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, inner := range value {
			object[key] = copyOf(inner)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, inner := range value {
			list[i] = copyOf(inner)
		}
		return list
	default:
		return value
	}
}

// encode returns the JSON of a value.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", value, err))
	}
	return data
}
