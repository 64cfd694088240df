package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Frame is a document without its parts: paths of parts go between Begin and Middle, definitions between Middle and
// End, members of objects both. Without any it is complete, too.
type Frame struct {
	Begin, Middle, End []byte
	// head is Begin up to the paths.
	head       []byte
	components bool
}

// Bytes is the document that has no parts.
func (f *Frame) Bytes() []byte { return slices.Concat(f.Begin, f.Middle, f.End) }

// Wrap is a document that has nothing but one part.
func (f *Frame) Wrap(p *Part) []byte {
	definitions := `},"definitions":{`
	end := "}}"
	if f.components {
		definitions, end = `},"components":{"schemas":{`, "}}}"
	}
	return slices.Concat(f.head, p.Paths, []byte(definitions), p.Definitions, []byte(end))
}

func titled(version, title string) ([]byte, error) {
	return json.Marshal(map[string]string{"title": title, "version": version})
}

// newCustomFrameV3 is the frame of a document of custom resources.
func newCustomFrameV3(scale bool) (*Frame, error) {
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
	return newFrameV3(info, nil, schemas, nil), nil
}

func newFrameV3(info, paths, schemas, rest []byte) *Frame {
	f := &Frame{components: true, head: fmt.Appendf(nil, `{"openapi":"3.0.0","info":%s,"paths":{`, info)}
	f.Begin = slices.Concat(f.head, paths)
	f.Middle = slices.Concat([]byte(`},"components":{"schemas":{`), schemas)
	f.End = slices.Concat([]byte("}"), rest, []byte("}}"))
	return f
}

// Bearer tokens are what clients that read these sections can make use of.
const (
	bearerToken    = `{"BearerToken":{"type":"apiKey","description":"Bearer Token authentication","name":"authorization","in":"header"}}`
	bearerRequired = `[{"BearerToken":[]}]`
)

// newStaticFrameV3 is a complete document of operations, with the definitions they refer to.
func (s *Static) newStaticFrameV3(operations []*operation) (*Frame, error) {
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
	return newFrameV3(info, paths, schemas, []byte(`,"securitySchemes":`+bearerToken)), nil
}

// newFrameV2 is the document of version 2 with everything in it that does not come from CRDs.
func (s *Static) newFrameV2() (*Frame, error) {
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
	// One resource that has everything stands for all that parts may refer to.
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
	f := &Frame{head: fmt.Appendf(nil, `{"swagger":"2.0","info":%s,"paths":{`, info)}
	f.Begin = slices.Concat(f.head, paths)
	f.Middle = slices.Concat([]byte(`},"definitions":{`), definitions)
	f.End = fmt.Appendf(nil, `},"parameters":%s,"securityDefinitions":%s,"security":%s}`, common, bearerToken, bearerRequired)
	return f, nil
}

// reachable are the definitions that operations refer to, directly or by others.
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
