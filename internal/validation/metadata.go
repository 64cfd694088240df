package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// metadata holds the metadata of an object while the schema is applied to the rest, because the schema need not declare it. It is
// zero for an object without metadata.
type metadata struct {
	canonical map[string]any     // metadata that is written back unchanged
	decoded   *metav1.ObjectMeta // any other metadata
}

// readMetadataWithLibrary decodes the metadata of an object as ObjectMeta. It drops unknown fields, and returns their paths if o asks for
// them. Depending on o, fields of the wrong type are dropped or an error.
func readMetadataWithLibrary(obj map[string]any, o CoerceOptions) (meta metadata, unknownFields []string, err error) {
	if _, ok := obj["metadata"]; !ok {
		return metadata{}, nil, nil
	}
	meta.decoded, _, unknownFields, err = objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{
		DropMalformedFields:     o.DropInvalidMetadata,
		ReturnUnknownFieldPaths: o.ReturnUnknownFieldPaths,
	})
	return meta, unknownFields, err
}

// repairGeneration sets a missing generation to 1.
func (m metadata) repairGeneration() {
	if m.decoded != nil && m.decoded.Generation == 0 {
		m.decoded.Generation = 1
	}
}

// write writes the metadata back to the object.
func (m metadata) write(obj map[string]any) error {
	switch {
	case m.canonical != nil:
		obj["metadata"] = m.canonical
		return nil
	case m.decoded != nil:
		return objectmeta.SetObjectMeta(obj, m.decoded)
	}
	return nil
}
