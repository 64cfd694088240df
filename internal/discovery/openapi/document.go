package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPIVersion has the differences between the versions of OpenAPI.
type openAPIVersion struct {
	// begin is the text before the title of a document, definitions the text between the paths and the definitions, and
	// end the text after both.
	begin, definitions, end string
	// protobuf encodes a document.
	protobuf func(document []byte) ([]byte, error)
	// build returns the paths, encoded, and the definitions that upstream's builder makes for the sample.
	build func(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, spec.Definitions, error)
}

var (
	version2 = &openAPIVersion{
		begin: `{"swagger":"2.0","info":`, definitions: `},"definitions":{`, end: "}}", protobuf: protobufV2, build: buildV2,
	}
	version3 = &openAPIVersion{
		begin: `{"openapi":"3.0.0","info":`, definitions: `},"components":{"schemas":{`, end: "}}}",
		protobuf: protobufV3, build: buildV3,
	}
)

// Document is a document without sections. The paths of sections go between Begin and Middle, their definitions between
// Middle and End, as members of objects. The document is valid without sections, too.
type Document struct {
	Begin, Middle, End []byte
	// Protobuf encodes the document. Encoded sections may follow it: a protobuf decoder merges consecutive messages, and
	// fields that are equal in all of them keep their value.
	Protobuf func() ([]byte, error)

	// head is Begin up to the paths.
	head []byte
	v    *openAPIVersion
}

func newDocument(v *openAPIVersion, info, paths, definitions, end []byte) *Document {
	d := &Document{head: slices.Concat([]byte(v.begin), info, []byte(`,"paths":{`)), v: v, End: end}
	d.Begin = slices.Concat(d.head, paths)
	d.Middle = slices.Concat([]byte(v.definitions), definitions)
	d.Protobuf = sync.OnceValues(func() ([]byte, error) { return v.protobuf(d.bytes()) })
	return d
}

func (d *Document) bytes() []byte { return slices.Concat(d.Begin, d.Middle, d.End) }

// wrap returns a document that consists of one section.
func (d *Document) wrap(s *Section) []byte {
	return slices.Concat(d.head, s.Paths, []byte(d.v.definitions), s.Definitions, []byte(d.v.end))
}

// EncodeSection encodes a section for a protobuf document.
func (d *Document) EncodeSection(s *Section) ([]byte, error) { return d.v.protobuf(d.wrap(s)) }

func protobufV2(document []byte) ([]byte, error) {
	parsed, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	return proto.Marshal(parsed)
}

func protobufV3(document []byte) ([]byte, error) {
	parsed, err := openapi_v3.ParseDocument(document)
	if err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	return proto.Marshal(parsed)
}

func info(version, title string) ([]byte, error) {
	return json.Marshal(map[string]string{"title": title, "version": version})
}

// newCustomDocument returns the document of a group and version of custom resources in version 3.
func newCustomDocument(scale bool) (*Document, error) {
	_, definitions, err := buildV3(shape{scale: scale}.sample())
	if err != nil {
		return nil, fmt.Errorf("describing resources: %w", err)
	}
	for _, kind := range []string{sample.kind, sample.listKind} {
		delete(definitions, sample.definitionName(kind))
	}
	schemas, err := members(definitions)
	if err != nil {
		return nil, err
	}
	info, err := info("v0.1.0", "Kubernetes CRD Swagger")
	if err != nil {
		return nil, err
	}
	return newDocument(version3, info, nil, schemas, []byte(version3.end)), nil
}
