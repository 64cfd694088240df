package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CoerceOptions are options of Coerce.
type CoerceOptions struct {
	// DropInvalidMetadata drops metadata fields of the wrong type instead of returning an error. It is for stored
	// objects, which may be older than the validation of metadata (T2).
	DropInvalidMetadata bool
	// RepairGeneration sets a missing generation to 1. It is for stored objects.
	RepairGeneration bool
	// ReturnUnknownFieldPaths makes Coerce return the paths of the dropped fields (W11).
	ReturnUnknownFieldPaths bool
}

// Coerce does to a custom resource what decoding into a Go struct does to an object of a built-in type. It decodes
// metadata as ObjectMeta, and drops fields that the schema does not declare and nulls that are not allowed and have no
// default, in embedded resources as well (T1-T3). It uses the schema of the object's version. Objects of other kinds
// lose unknown metadata only. Coerce modifies obj.
func (s *Set) Coerce(obj map[string]any, o CoerceOptions) (unknownFields []string, err error) {
	// The schema need not declare apiVersion and kind, so they are written back at the end.
	kind, hasKind, err := unstructured.NestedString(obj, "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasAPIVersion, err := unstructured.NestedString(obj, "apiVersion")
	if err != nil {
		return nil, err
	}
	meta, unknownFields, err := readMetadata(obj, o)
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}

	// The decoder also passes options of requests and other built-in kinds.
	if (schema.GroupKind{Group: gv.Group, Kind: kind}) == s.kind {
		unknown, err := s.coerceToSchema(obj, o, s.Version(gv.Version))
		if err != nil {
			return nil, err
		}
		unknownFields = append(unknownFields, unknown...)
		if o.RepairGeneration {
			meta.repairGeneration()
		}
	}

	if hasKind {
		obj["kind"] = kind
	}
	if hasAPIVersion {
		obj["apiVersion"] = apiVersion
	}
	if err := meta.write(obj); err != nil {
		return nil, err
	}
	return unknownFields, nil
}

// coerceToSchema applies the schema of a version. If v is nil, the CRD does not have the version and no field is known.
func (s *Set) coerceToSchema(obj map[string]any, o CoerceOptions, v *Version) (unknownFields []string, err error) {
	var (
		schema   objectSchema = &librarySchema{}
		embedded *structuralschema.Structural
	)
	if v != nil {
		if schema, err = v.objectSchema(); err != nil {
			return nil, err
		}
		if embedded, err = v.embedded(); err != nil {
			return nil, err
		}
	}
	if !s.crd.Spec.PreserveUnknownFields {
		unknownFields = schema.prune(obj, o.ReturnUnknownFieldPaths)
	}
	if embedded == nil {
		return unknownFields, nil
	}
	coerceErr, unknown := objectmeta.CoerceWithOptions(nil, obj, embedded, false, objectmeta.CoerceOptions{
		DropInvalidFields:       o.DropInvalidMetadata,
		ReturnUnknownFieldPaths: o.ReturnUnknownFieldPaths,
	})
	if coerceErr != nil {
		return nil, coerceErr
	}
	return append(unknownFields, unknown...), nil
}

// metadata holds the metadata of an object while the schema is applied to the rest, because the schema need not declare
// it. It is zero for an object without metadata.
type metadata struct {
	canonical map[string]any     // metadata that is written back unchanged
	decoded   *metav1.ObjectMeta // any other metadata
}

// readMetadataWithLibrary decodes the metadata of an object as ObjectMeta. It drops unknown fields, and returns their
// paths if o asks for them. Depending on o, fields of the wrong type are dropped or an error.
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
