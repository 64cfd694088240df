package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Section is what one CRD contributes to a document.
type Section struct {
	// Paths and Definitions are members of JSON objects, without braces. They are empty only if the CRD serves no version.
	Paths, Definitions []byte
	// Scale says that the section refers to the definitions of the scale subresource.
	Scale bool
}

// V3 returns the section of a CRD in the document of one of its versions.
func V3(crd *apiextensions.CustomResourceDefinition, version string) (*Section, error) {
	shared, err := sharedV3()
	if err != nil {
		return nil, err
	}
	r, definitions, err := shared.declare(crd, version, version3)
	if err != nil {
		return nil, err
	}
	section := &Section{Scale: r.scale}
	if section.Paths, err = version3.appendPaths(nil, r); err != nil {
		return nil, err
	}
	section.Definitions, err = members(definitions)
	return section, err
}

// V2 returns the section of a CRD, with all versions that it serves, in the document of OpenAPI version 2.
func V2(crd *apiextensions.CustomResourceDefinition) (*Section, error) {
	shared, err := sharedV2()
	if err != nil {
		return nil, err
	}
	section := &Section{}
	for n := range crd.Spec.Versions {
		if !crd.Spec.Versions[n].Served {
			continue
		}
		r, definitions, err := shared.declare(crd, crd.Spec.Versions[n].Name, version2)
		if err != nil {
			return nil, err
		}
		section.Scale = section.Scale || r.scale
		if section.Paths, err = version2.appendPaths(section.Paths, r); err != nil {
			return nil, err
		}
		if section.Definitions, err = appendMembers(section.Definitions, definitions); err != nil {
			return nil, err
		}
	}
	return section, nil
}

// declare returns a CRD in one of its versions as a resource, and its definitions in a document of version v.
func (s *shared) declare(crd *apiextensions.CustomResourceDefinition, version string, v *openAPIVersion) (*resource, spec.Definitions, error) {
	r, err := newResource(crd, version)
	if err != nil {
		return nil, nil, err
	}
	definitions, err := r.definitions(crd, v)
	if err != nil {
		return nil, nil, err
	}
	return r, definitions, s.reserve(definitions)
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
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encodedName...), ':'), value...)
	}
	return b, nil
}
