package openapi

import (
	"bytes"
	_ "embed" // static.json
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
)

// staticJSON has the documents that do not depend on CRDs, as upstream's builder makes them. TestStaticEqualsUpstream
// writes it.
//
//go:embed static.json
var staticJSON []byte

// staticDocuments is the content of static.json.
type staticDocuments struct {
	// V2 has the members of the document of version 2, V3 those of the documents of version 3 by path.
	V2 map[string]json.RawMessage
	V3 map[string]map[string]json.RawMessage
}

var static = sync.OnceValue(func() *staticDocuments {
	compact, documents := &bytes.Buffer{}, &staticDocuments{}
	if err := json.Compact(compact, staticJSON); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(compact.Bytes(), documents); err != nil {
		panic(err)
	}
	return documents
})

// reserved are the definitions that CRDs must not redefine.
var reserved = sync.OnceValues(func() (names map[string]json.RawMessage, err error) {
	return names, json.Unmarshal(static().V2["definitions"], &names)
})

// reserve returns an error if a definition of a CRD has the name of a static one.
func reserve(names ...string) error {
	static, err := reserved()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := static[name]; ok {
			return fmt.Errorf("the definition %s is Kubernetes' own", name)
		}
	}
	return nil
}

// Static makes the parts of documents that do not depend on CRDs.
type Static struct {
	// version is the version of the API in the titles of documents.
	version string

	// rows are the built-in resources, builtin has their documents of version 3 by path.
	rows    []*builtin.Definition
	builtin map[string]func() (*Document, error)

	// Fingerprint returns a string that changes with the built-in resources and their definitions. It is empty if there
	// are no built-in resources.
	Fingerprint func() string
	// V2 returns the document of version 2.
	V2 func() (*Document, error)

	documentV3    func() (*Document, error)
	documentScale func() (*Document, error)
	staticV3      func() (map[string]*Document, error)
}

// NewStatic returns the Static of a server version with built-in resources. Documents are computed on demand.
func NewStatic(version string, rows []*builtin.Definition) *Static {
	if version == "" {
		version = "unversioned"
	}
	s := &Static{version: version, rows: rows, builtin: newBuiltin(version, rows)}
	s.Fingerprint = sync.OnceValue(func() string { return fingerprintOf(rows) })
	s.V2 = sync.OnceValues(s.newDocumentV2)
	s.documentV3 = sync.OnceValues(func() (*Document, error) { return newCustomDocument(false) })
	s.documentScale = sync.OnceValues(func() (*Document, error) { return newCustomDocument(true) })
	s.staticV3 = sync.OnceValues(s.newStaticV3)
	return s
}

// V3 returns the document of a group and version of custom resources. scale says whether a section refers to the
// definitions of the scale subresource.
func (s *Static) V3(scale bool) (*Document, error) {
	if scale {
		return s.documentScale()
	}
	return s.documentV3()
}

// PathsV3 returns the paths of the static documents of version 3.
func (s *Static) PathsV3() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(static().V3)), maps.Keys(s.builtin))
}

// DocumentV3 returns the static document of a path, which has no sections, or nil.
func (s *Static) DocumentV3(path string) (*Document, error) {
	if document := s.builtin[path]; document != nil {
		return document()
	}
	documents, err := s.staticV3()
	return documents[path], err
}

// newStaticV3 returns the static documents of version 3 by path.
func (s *Static) newStaticV3() (map[string]*Document, error) {
	info, err := info(s.version, "Kubernetes")
	if err != nil {
		return nil, err
	}
	documents := map[string]*Document{}
	for path, document := range static().V3 {
		document = maps.Clone(document)
		document["info"] = info
		encoded, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("encoding OpenAPI: %w", err)
		}
		documents[path] = &Document{Begin: encoded,
			Protobuf: sync.OnceValues(func() ([]byte, error) { return protobufV3(encoded) })}
	}
	return documents, nil
}

// newDocumentV2 returns the document of version 2 with everything that does not come from CRDs.
func (s *Static) newDocumentV2() (*Document, error) {
	info, err := info(s.version, "Kubernetes")
	if err != nil {
		return nil, err
	}
	document, err := s.membersV2()
	if err != nil {
		return nil, err
	}
	end := fmt.Appendf(nil, `},"parameters":%s,"securityDefinitions":%s,"security":%s}`,
		document["parameters"], document["securityDefinitions"], document["security"])
	return newDocument(version2, info, unbraced(document["paths"]), unbraced(document["definitions"]), end), nil
}

// membersV2 returns the members of the document of version 2.
func (s *Static) membersV2() (map[string]json.RawMessage, error) {
	document := static().V2
	if len(s.rows) == 0 {
		return document, nil
	}
	described, err := builtinV2(s.rows)
	if err != nil {
		return nil, fmt.Errorf("describing built-in resources: %w", err)
	}
	document = maps.Clone(document)
	for name, more := range map[string]any{
		"paths": described.Paths.Paths, "definitions": described.Definitions, "parameters": described.Parameters,
	} {
		if document[name], err = merge(document[name], more); err != nil {
			return nil, fmt.Errorf("encoding OpenAPI: %w", err)
		}
	}
	return document, nil
}

// merge adds members to an object. Members that it has remain.
func merge(object json.RawMessage, more any) (json.RawMessage, error) {
	encoded, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	merged := map[string]json.RawMessage{}
	for _, members := range []json.RawMessage{encoded, object} {
		if err := json.Unmarshal(members, &merged); err != nil {
			return nil, err
		}
	}
	return json.Marshal(merged)
}

// unbraced returns the members of an object.
func unbraced(object []byte) []byte { return object[1 : len(object)-1] }
