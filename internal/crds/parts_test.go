package crds

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// shared is a CRD whose versions have the same schema, with all characters that JSON escapes.
const shared = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"pages.example.com","uid":"2","annotations":{"a":"{\"description\":\"hole-0-\"}"}},
"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"pages","kind":"Page"},"versions":[
 {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
 "description":"{\"description\":\"hole-0-\"} <a & b> \u2028","default":{"a":[null,"<",1.50]},"properties":{
  "a":{"type":"array","items":{"type":"string","enum":["<>",null]},"default":[]},"b":{"description":"hole-0-"},
  "c":{"additionalProperties":false},"d":{"anyOf":[{"description":"\"}"}]}}}}},
 {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
 "description":"{\"description\":\"hole-0-\"} <a & b> \u2028","default":{"a":[null,"<",1.50]},"properties":{
  "a":{"type":"array","items":{"type":"string","enum":["<>",null]},"default":[]},"b":{"description":"hole-0-"},
  "c":{"additionalProperties":false},"d":{"anyOf":[{"description":"\"}"}]}}}}}]},
"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}`

// schemaless is a CRD whose versions have no schema, in every form of that.
const schemaless = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"voids.example.com","uid":"3"},
"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"voids","kind":"Void"},"versions":[
 {"name":"v1","served":true,"storage":true,"schema":{}},{"name":"v2","served":true,"storage":false},{"name":"v3",
 "served":true,"storage":false,"schema":{"openAPIV3Schema":{}}}]},
"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}`

// manifests are the CRDs of the tests.
var manifests = map[string]string{"widgets": widgets, "ancient": ancient, "shared": shared, "schemaless": schemaless}

// FuzzParts compares the encoding of a CRD in parts with the encoding as a whole, in v1.
// TestEncodeWritesWhatUpstreamWrites does so in v1beta1.
func FuzzParts(f *testing.F) {
	for _, manifest := range manifests {
		f.Add([]byte(manifest))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		crd, err := DecodeDefinition(value, 7)
		if err != nil {
			return
		}
		before := crd.DeepCopy()
		want, wholeErr := inV1(crd)
		parts, err := NewParts(crd)
		if err != nil {
			if wholeErr == nil {
				t.Errorf("in parts only: %v", err)
			}
			return
		}
		bare, err := inV1(parts.Bare)
		if (err == nil) != (wholeErr == nil) {
			t.Errorf("as a whole: %v; in parts: %v", wholeErr, err)
		}
		if diff := cmp.Diff(string(want), string(parts.Complete(bare))); err == nil && diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, crd); diff != "" {
			t.Errorf("the CRD was changed: %s", diff)
		}
	})
}

func inV1(crd *apiextensions.CustomResourceDefinition) ([]byte, error) {
	v1, err := ToV1(crd)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1)
}
