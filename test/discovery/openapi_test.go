package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"k8s.io/kube-openapi/pkg/handler3"
)

// document is a document of OpenAPI: its paths, and everything that they refer to, by reference.
type document map[string]any

// hash returns the hash of the canonical JSON.
func (d document) hash() string {
	encoded, err := json.Marshal(d) // sorts the members of objects
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

// documents returns the document of version 2 and all of version 3.
func (r *reader) documents() map[string]document {
	index := &handler3.OpenAPIV3Discovery{}
	r.get("/openapi/v3", "application/json", index)
	paths := []string{"/openapi/v2"}
	for path := range index.Paths {
		paths = append(paths, "/openapi/v3/"+path)
	}
	documents := map[string]document{}
	for _, path := range paths {
		whole := map[string]any{}
		r.get(path, "application/json", &whole)
		documents[path] = reduce(whole)
	}
	return documents
}

// reduce removes the intended differences from a document, and then what nothing refers to any more.
func reduce(whole map[string]any) document {
	reduced := document{"info": whole["info"]}
	paths, _ := whole["paths"].(map[string]any)
	for path, item := range paths {
		if !unlikePath(path) {
			reduced[path] = item
		}
	}
	for pending := references(map[string]any(reduced)); len(pending) > 0; {
		ref := pending[0]
		pending = pending[1:]
		if _, done := reduced[ref]; done {
			continue
		}
		target := lookUp(whole, ref)
		removeUnlike(ref, target)
		reduced[ref] = target
		pending = append(pending, references(target)...)
	}
	return reduced
}

// references returns the references in a value.
func references(value any) (refs []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if ref, ok := member.(string); ok && name == "$ref" {
				refs = append(refs, ref)
			}
			refs = append(refs, references(member)...)
		}
	case []any:
		for _, item := range v {
			refs = append(refs, references(item)...)
		}
	}
	return refs
}

// lookUp returns what a reference such as #/definitions/name refers to.
func lookUp(whole map[string]any, ref string) any {
	var at any = whole
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	return at
}
