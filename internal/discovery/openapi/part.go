package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Part is what one CRD contributes to a document.
type Part struct {
	// Paths and Definitions are members of JSON objects, without the braces around them and never empty.
	Paths, Definitions []byte
	// Scale says that the part refers to the definitions of the scale subresource.
	Scale bool
}

// V3 is the part of a CRD in the document of one of its versions.
func V3(crd *apiextensions.CustomResourceDefinition, version string) (*Part, error) {
	shared, err := sharedV3()
	if err != nil {
		return nil, err
	}
	r, definitions, err := shared.declare(crd, version, version3)
	if err != nil {
		return nil, err
	}
	part := &Part{Scale: r.scale}
	if part.Paths, err = version3.appendPaths(nil, r); err != nil {
		return nil, err
	}
	part.Definitions, err = members(definitions)
	return part, err
}

// V2 is the part of a CRD, with all versions it serves, in the document of version 2.
func V2(crd *apiextensions.CustomResourceDefinition) (*Part, error) {
	shared, err := sharedV2()
	if err != nil {
		return nil, err
	}
	part := &Part{}
	for n := range crd.Spec.Versions {
		if !crd.Spec.Versions[n].Served {
			continue
		}
		r, definitions, err := shared.declare(crd, crd.Spec.Versions[n].Name, version2)
		if err != nil {
			return nil, err
		}
		part.Scale = part.Scale || r.scale
		if part.Paths, err = version2.appendPaths(part.Paths, r); err != nil {
			return nil, err
		}
		if part.Definitions, err = appendMembers(part.Definitions, definitions); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// declare describes a CRD in one of its versions, with the definitions that this takes in a document of version v.
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

// members encodes an object without its braces. Its members are sorted.
func members[T json.Marshaler](object map[string]T) ([]byte, error) {
	return appendMembers(nil, object)
}

// appendMembers appends the members to those that are there. json.Marshal would do the same but for reading once
// more what the values have encoded, which is most of its work.
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

// ProtobufV2 encodes a document of version 2. Documents of parts may be put one after the other: protobuf
// merges messages that way, and what is the same in all of them stays as it is.
func ProtobufV2(document []byte) ([]byte, error) {
	parsed, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	return proto.Marshal(parsed)
}

// ProtobufV3 is ProtobufV2 for version 3.
func ProtobufV3(document []byte) ([]byte, error) {
	parsed, err := openapi_v3.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	return proto.Marshal(parsed)
}
