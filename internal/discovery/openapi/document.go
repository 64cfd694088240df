package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Document is a document without sections. The paths of sections go between Begin and Middle, their definitions between
// Middle and End, as members of objects. Without sections the document is complete, too.
type Document struct {
	Begin, Middle, End []byte
	// Protobuf encodes the document. Encoded sections may follow it: protobuf merges messages that are one after the other, and
	// what is the same in all of them stays as it is.
	Protobuf func() ([]byte, error)

	// head is Begin up to the paths.
	head []byte
	v    *openAPIVersion
}

func newDocument(v *openAPIVersion, head, paths, definitions, end []byte) *Document {
	d := &Document{head: head, v: v, End: end}
	d.Begin = slices.Concat(head, paths)
	d.Middle = slices.Concat([]byte(v.definitions), definitions)
	d.Protobuf = sync.OnceValues(func() ([]byte, error) { return v.protobuf(d.bytes()) })
	return d
}

func (d *Document) bytes() []byte { return slices.Concat(d.Begin, d.Middle, d.End) }

// wrap returns a document that has nothing but one section.
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

func titled(version, title string) ([]byte, error) {
	return json.Marshal(map[string]string{"title": title, "version": version})
}

// newCustomDocumentV3 returns the document of a version of custom resources.
func newCustomDocumentV3(scale bool) (*Document, error) {
	shared, err := sharedV3()
	if err != nil {
		return nil, err
	}
	definitions := maps.Clone(shared.custom)
	if scale {
		maps.Copy(definitions, shared.scale)
	}
	schemas, err := members(definitions)
	if err != nil {
		return nil, err
	}
	info, err := titled("v0.1.0", "Kubernetes CRD Swagger")
	if err != nil {
		return nil, err
	}
	return newDocumentV3(info, nil, schemas, version3.end), nil
}

func newDocumentV3(info, paths, schemas []byte, end string) *Document {
	return newDocument(version3, fmt.Appendf(nil, `{"openapi":"3.0.0","info":%s,"paths":{`, info), paths, schemas, []byte(end))
}

// Upstream describes bearer tokens only.
const (
	bearerToken    = `{"BearerToken":{"type":"apiKey","description":"Bearer Token authentication","name":"authorization","in":"header"}}`
	bearerRequired = `[{"BearerToken":[]}]`
)

// newStaticDocumentV3 returns a complete document of operations, with the definitions they refer to.
func (s *Static) newStaticDocumentV3(operations []*operation) (*Document, error) {
	shared, err := sharedV3()
	if err != nil {
		return nil, err
	}
	info, err := titled(s.version, "Kubernetes")
	if err != nil {
		return nil, err
	}
	paths, err := version3.appendOperations(nil, operations)
	if err != nil {
		return nil, err
	}
	schemas, err := members(reachable(operations, shared.static))
	if err != nil {
		return nil, err
	}
	return newDocumentV3(info, paths, schemas, `},"securitySchemes":`+bearerToken+"}}"), nil
}

// newDocumentV2 returns the document of version 2 with everything that does not come from CRDs.
func (s *Static) newDocumentV2() (*Document, error) {
	shared, err := sharedV2()
	if err != nil {
		return nil, err
	}
	var operations []*operation
	for _, more := range staticDocuments() {
		operations = append(operations, more...)
	}
	all := maps.Clone(shared.static)
	maps.Copy(all, shared.scale)
	// The parameters of a resource that has everything are those of all CRDs.
	parameters, err := sharedParameters(append(operations, (&resource{
		group: "g", version: "v", plural: "p", kind: "K", listKind: "L", namespaced: true, status: true, scale: true,
	}).operations()...))
	if err != nil {
		return nil, err
	}
	info, infoErr := titled(s.version, "Kubernetes")
	paths, pathsErr := version2.appendOperations(nil, operations)
	definitions, definitionsErr := members(all)
	common, commonErr := json.Marshal(parameters)
	if err := errors.Join(infoErr, pathsErr, definitionsErr, commonErr); err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	return newDocument(version2, fmt.Appendf(nil, `{"swagger":"2.0","info":%s,"paths":{`, info), paths, definitions,
		fmt.Appendf(nil, `},"parameters":%s,"securityDefinitions":%s,"security":%s}`, common, bearerToken, bearerRequired)), nil
}

// reachable returns the definitions that operations refer to, directly or through others.
func reachable(operations []*operation, all spec.Definitions) spec.Definitions {
	found := spec.Definitions{}
	var visit func(name string)
	visit = func(name string) {
		if _, done := found[name]; done {
			return
		}
		found[name] = all[name]
		for _, dependency := range version3.dependencies()[name] {
			visit(dependency)
		}
	}
	for _, op := range operations {
		if op.reads != "" {
			visit(op.reads)
		}
		for _, r := range op.responses {
			visit(r.writes)
		}
	}
	return found
}
