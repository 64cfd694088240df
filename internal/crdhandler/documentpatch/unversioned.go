package documentpatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// Unversioned reports whether a document of a kind has no apiVersion, because a patch has removed it. It returns an
// error for each field. kube-apiserver decodes such a document into its internal type. That has no names for JSON, so
// the object is empty and all fields are unknown.
func Unversioned(document []byte, kind string) (unknown []error, ok bool) {
	declared, err := jsonserializer.DefaultMetaFactory.Interpret(document)
	if err != nil || declared.Group != "" || declared.Version != "" || declared.Kind != "" && declared.Kind != kind {
		return nil, false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, false
	}
	delete(members, "apiVersion")
	delete(members, "kind")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", name))
	}
	return unknown, true
}
