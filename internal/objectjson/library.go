//go:build library

package objectjson

import (
	"encoding/json"
	"maps"
)

// Marshal returns what json.Marshal returns.
func Marshal(value any) ([]byte, error) { return json.Marshal(value) }

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
