package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CoerceOptions say how Coerce treats what does not fit.
type CoerceOptions struct {
	// DropInvalidMetadata drops metadata fields of the wrong type instead of failing: for objects from storage, which may
	// be older than the validation of metadata (T2).
	DropInvalidMetadata bool
	// RepairGeneration sets the generation of objects that have none to 1: for objects from storage.
	RepairGeneration bool
	// ReturnUnknownFieldPaths asks for the paths of the fields that were dropped (W11).
	ReturnUnknownFieldPaths bool
}

// Coerce does to an object what decoding into a Go struct does to a built-in type: metadata is read as ObjectMeta, fields that
// the schema does not know are dropped, and so are nulls that may not be null and have no default; the same in embedded
// resources (T1-T3). The schema is that of the object's version. Objects of other kinds keep everything but unknown
// metadata. The object is modified in place.
func (s *Set) Coerce(obj map[string]any, o CoerceOptions) (unknownFields []string, err error) {
	return s.coerce(obj, o, nil)
}

// Coerce does what Set.Coerce does, by this version's schema whatever version the object says it has.
func (v *Version) Coerce(obj map[string]any, o CoerceOptions) (unknownFields []string, err error) {
	return v.set.coerce(obj, o, v)
}

func (s *Set) coerce(obj map[string]any, o CoerceOptions, v *Version) (unknownFields []string, err error) {
	// The type is kept aside: the schema need not declare it.
	kind, hasKind, err := unstructured.NestedString(obj, "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasAPIVersion, err := unstructured.NestedString(obj, "apiVersion")
	if err != nil {
		return nil, err
	}
	meta, unknownFields, err := readMeta(obj, o)
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}

	// Options of requests and the like pass through here too.
	if (schema.GroupKind{Group: gv.Group, Kind: kind}) == s.kind {
		if v == nil {
			v = s.Version(gv.Version)
		}
		unknown, err := s.coerceToSchema(obj, o, v)
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

// coerceToSchema is the part of coerce that is about the schema. A version that the CRD does not have knows no field.
func (s *Set) coerceToSchema(obj map[string]any, o CoerceOptions, v *Version) (unknownFields []string, err error) {
	var (
		structural, embedded *structuralschema.Structural
		root                 *node
	)
	if v != nil {
		if structural, err = v.Structural(); err != nil {
			return nil, err
		}
		if root, err = v.root(); err != nil {
			return nil, err
		}
		if embedded, err = v.embedded(); err != nil {
			return nil, err
		}
	}
	if !s.crd.Spec.PreserveUnknownFields && !root.cleanObject(obj, true) {
		unknownFields = pruning.PruneWithOptions(obj, structural, true, structuralschema.UnknownFieldPathOptions{
			TrackUnknownFieldPaths: o.ReturnUnknownFieldPaths,
		})
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, structural)
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
