package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Section is the part of a document that describes one CRD.
type Section struct {
	// Paths and Definitions are members of JSON objects, without braces. They are empty only if the CRD serves no version.
	Paths, Definitions []byte
	// Scale says that the section refers to the definitions of the scale subresource.
	Scale bool
}

// V3 returns the section of a CRD in the document of one of its versions.
func V3(crd *apiextensions.CustomResourceDefinition, version string) (*Section, error) {
	section := &Section{}
	return section, section.add(crd, version, version3)
}

// V2 returns the section of a CRD, with all versions that it serves, in the document of OpenAPI version 2.
func V2(crd *apiextensions.CustomResourceDefinition) (*Section, error) {
	section := &Section{}
	for n := range crd.Spec.Versions {
		if !crd.Spec.Versions[n].Served {
			continue
		}
		if err := section.add(crd, crd.Spec.Versions[n].Name, version2); err != nil {
			return nil, err
		}
	}
	return section, nil
}

// add describes a version of the CRD.
func (s *Section) add(crd *apiextensions.CustomResourceDefinition, version string, v *openAPIVersion) error {
	r, err := newResource(crd, version)
	if err != nil {
		return err
	}
	object := r.definitionName(r.kind)
	if err := reserve(object, r.definitionName(r.listKind)); err != nil {
		return err
	}
	t, err := v.template(r.shape)
	if err != nil {
		return err
	}
	schema, err := r.objectSchema(crd, v, t)
	if err != nil {
		return err
	}
	values, err := r.forms()
	if err != nil {
		return err
	}
	s.Scale = s.Scale || r.scale
	s.Paths = t.paths.Append(separate(s.Paths), values)
	s.Definitions = t.list.Append(separate(s.Definitions), values)
	s.Definitions, err = appendMembers(s.Definitions, map[string]*spec.Schema{object: schema})
	return err
}

// members encodes an object without its braces, sorted by name.
func members[T json.Marshaler](object map[string]T) ([]byte, error) {
	return appendMembers(nil, object)
}

// appendMembers appends the members of an object to the members in b. json.Marshal would parse the output of every
// value's MarshalJSON again, which is most of its work.
// See docs/upstream.md, "json.Marshal validates the output of MarshalJSON".
func appendMembers[T json.Marshaler](b []byte, object map[string]T) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		encodedName, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("encoding OpenAPI: %w", err)
		}
		value, err := object[name].MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding OpenAPI of %s: %w", name, err)
		}
		b = append(append(append(separate(b), encodedName...), ':'), value...)
	}
	return b, nil
}

// separate appends a comma to members of an object if there are any.
func separate(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	return b
}
