package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rootMeta is the metadata of an object while the rest is coerced: kept aside, since the schema need not declare
// it. The zero rootMeta is that of an object that has none.
type rootMeta struct {
	// canonical is metadata that can be put back as it was.
	canonical map[string]any
	// parsed is any other.
	parsed *metav1.ObjectMeta
}

// readMeta reads the metadata of an object as ObjectMeta does: unknown fields are dropped, and told if that is asked for; fields
// of the wrong type are dropped, or an error.
func readMeta(obj map[string]any, o CoerceOptions) (meta rootMeta, unknownFields []string, err error) {
	metadata, ok := obj["metadata"]
	if !ok {
		return rootMeta{}, nil, nil
	}
	if generation, ok := canonicalMeta(metadata); ok && (generation != 0 || !o.RepairGeneration) {
		return rootMeta{canonical: metadata.(map[string]any)}, nil, nil
	}
	meta.parsed, _, unknownFields, err = objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{
		DropMalformedFields:     o.DropInvalidMetadata,
		ReturnUnknownFieldPaths: o.ReturnUnknownFieldPaths,
	})
	return meta, unknownFields, err
}

// repairGeneration sets a missing generation to 1.
func (m rootMeta) repairGeneration() {
	if m.parsed != nil && m.parsed.Generation == 0 {
		m.parsed.Generation = 1
	}
}

// write puts the metadata back.
func (m rootMeta) write(obj map[string]any) error {
	switch {
	case m.canonical != nil:
		obj["metadata"] = m.canonical
		return nil
	case m.parsed != nil:
		return objectmeta.SetObjectMeta(obj, m.parsed)
	}
	return nil
}
