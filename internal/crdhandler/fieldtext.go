package crdhandler

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// The library reads the text of a set by inserting one path element after the other into a sorted slice, which is quick for those that it has
// written itself. Clients may send any, and JSON's own order is not that of numbers: 100,000 negative ones took 5 s, and more by the
// square of their number (https://github.com/kubernetes-sigs/structured-merge-diff/pull/310). So where they are many they are shown to it in its order.

// marshalFields encodes a set of fields. Many of them are in the order of path elements.
func marshalFields(members map[string]any) ([]byte, error) {
	return objectjson.MarshalOrdered(members, func(names []string) {
		if len(names) > few {
			sortElements(names)
		}
	})
}

// sortElements sorts texts of path elements as the elements are sorted; those of none go first.
func sortElements(texts []string) {
	type parsed struct {
		text    string
		element fieldpath.PathElement
		none    bool
	}
	all := make([]parsed, len(texts))
	for i, text := range texts {
		element, err := fieldpath.DeserializePathElement(text)
		all[i] = parsed{text, element, err != nil}
	}
	slices.SortFunc(all, func(a, b parsed) int {
		switch {
		case a.none && b.none:
			return strings.Compare(a.text, b.text)
		case a.none:
			return -1
		case b.none:
			return 1
		}
		return a.element.Compare(b.element)
	})
	for i := range all {
		texts[i] = all[i].text
	}
}

// inFieldOrder returns managed fields whose sets are quick to read. It modifies nothing that it is given.
func inFieldOrder(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	ordered := slices.Clone(entries)
	for i := range ordered {
		fields := ordered[i].FieldsV1
		if fields == nil || len(fields.GetRawBytes()) <= maxSetBytes {
			continue
		}
		var members map[string]any
		if err := utiljson.Unmarshal(fields.GetRawBytes(), &members); err != nil || members == nil {
			continue // for the library to say
		}
		if text, err := marshalFields(members); err == nil {
			ordered[i].FieldsV1 = &metav1.FieldsV1{}
			ordered[i].FieldsV1.SetRawBytes(text)
		}
	}
	return ordered
}

// orderFields brings the managed fields that a client has sent with an object of a Go type in that order. Those of others are when they are read.
func orderFields(obj runtime.Object) {
	if m := accessor(obj); len(m.GetManagedFields()) > 0 {
		m.SetManagedFields(inFieldOrder(m.GetManagedFields()))
	}
}
