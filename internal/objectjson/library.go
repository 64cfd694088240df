//go:build library

package objectjson

import (
	"encoding/json"
	"maps"
	"slices"
)

// Marshal returns what json.Marshal returns.
func Marshal(value any) ([]byte, error) { return json.Marshal(value) }

// MarshalOrdered is Marshal, but order may change the order of the sorted names of every object that is not in an array.
func MarshalOrdered(members map[string]any, order func(names []string)) ([]byte, error) {
	names := slices.Sorted(maps.Keys(members))
	order(names)
	out := []byte{'{'}
	for n, name := range names {
		encode := func() ([]byte, error) { return json.Marshal(members[name]) }
		if within, ok := members[name].(map[string]any); ok && within != nil {
			encode = func() ([]byte, error) { return MarshalOrdered(within, order) }
		}
		value, err := encode()
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

func marshalObject(obj, metadata map[string]any) (value []byte, at int, err error) {
	metadata, obj = maps.Clone(metadata), maps.Clone(obj)
	maps.DeleteFunc(metadata, func(name string, _ any) bool { return omitted(name) })
	obj["metadata"] = metadata
	if value, err = json.Marshal(obj); err != nil {
		return nil, 0, err
	}
	if at, err = membersBefore(obj, "metadata"); err != nil {
		return nil, 0, err
	}
	at += len(`"metadata":`)
	if _, ok := metadata["uid"]; !ok {
		return append(value, '\n'), at + len(`{`), nil
	}
	within, err := membersBefore(metadata, "resourceVersion")
	return append(value, '\n'), at + within, err
}

// membersBefore returns the number of bytes that stand before a member of an encoded object.
func membersBefore(members map[string]any, name string) (int, error) {
	before := maps.Clone(members)
	maps.DeleteFunc(before, func(other string, _ any) bool { return other >= name })
	if len(before) == 0 {
		return len(`{`), nil
	}
	encoded, err := json.Marshal(before)
	return len(encoded), err // the comma stands where the closing brace does
}

// UnmarshalYAML leaves every body to the YAML parser.
func UnmarshalYAML([]byte) (obj map[string]any, ok bool) { return nil, false }
