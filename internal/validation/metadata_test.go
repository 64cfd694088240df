package validation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestCanonicalMeta(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`:                              true,
		`{name: a, uid: b}`:               true,
		`{name: ""}`:                      false,
		`{name: null}`:                    false,
		`{name: 1}`:                       false,
		`{bogus: 1}`:                      false,
		`{Name: a}`:                       false,
		`{generation: 1}`:                 true,
		`{generation: 0}`:                 false,
		`{generation: 1.5}`:               false,
		`{deletionGracePeriodSeconds: 0}`: true,
		`{creationTimestamp: "2026-01-01T00:00:00Z"}`:      true,
		`{creationTimestamp: "2026-01-01T00:00:00+00:00"}`: false,
		`{creationTimestamp: "2026-01-01T00:00:00.5Z"}`:    false,
		`{creationTimestamp: "0001-01-01T00:00:00Z"}`:      false,
		`{creationTimestamp: null}`:                        false,
		`{labels: {a: ""}}`:                                true,
		`{labels: {}}`:                                     false,
		`{labels: {a: 1}}`:                                 false,
		`{finalizers: [a]}`:                                true,
		`{finalizers: []}`:                                 false,
		`{ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: true}]}`: true,
		`{ownerReferences: [{apiVersion: v1, kind: A, name: a}]}`:                           false,
		`{ownerReferences: [null]}`: false,
		`{managedFields: [{manager: a, operation: Apply, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: ` +
			`{"f:spec": {".": {}}}}]}`: true,
		`{managedFields: [{}]}`:                 true,
		`{managedFields: [{fieldsV1: {a: 1}}]}`: false,
		`{managedFields: [{fieldsV1: null}]}`:   false,
		`{managedFields: [{subresource: ""}]}`:  false,
		`[]`:                                    false,
	} {
		metadata := object(t, "metadata: "+text)["metadata"]
		_, got := canonicalMetadata(metadata)
		if got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
		if got {
			roundTripped(t, metadata)
		}
	}
}

// roundTripped fails the test if reading and writing metadata as ObjectMeta changes it.
func roundTripped(t *testing.T, metadata any) {
	t.Helper()
	obj := map[string]any{"metadata": metadata}
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(obj,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil || len(unknown) > 0 {
		t.Fatalf("said to be canonical: %v\nbut read with %v, %v", metadata, unknown, err)
	}
	out := map[string]any{}
	if err := objectmeta.SetObjectMeta(out, meta); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metadata, out["metadata"]); diff != "" {
		t.Fatalf("reported to be canonical (-before +after):\n%s", diff)
	}
	if generation, _ := canonicalMetadata(metadata); generation != meta.Generation {
		t.Fatalf("generation %d, want %d", generation, meta.Generation)
	}
}

// FuzzCanonicalMeta tests that metadata reported to be canonical is canonical.
func FuzzCanonicalMeta(f *testing.F) {
	for _, text := range []string{
		`{name: a, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0, labels: {a: b},` +
			` finalizers: [a]}`,
		`{ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: true, blockOwnerDeletion: false}]}`,
		`{managedFields: [{manager: a, operation: Apply, apiVersion: v1, time: "2026-01-01T00:00:00Z", fieldsType: ` +
			`FieldsV1, fieldsV1: {"f:spec": {".": {}}}, subresource: status}]}`,
	} {
		data, err := json.Marshal(object(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var metadata map[string]any
		if utiljson.Unmarshal(data, &metadata) != nil || metadata == nil {
			return
		}
		if _, ok := canonicalMetadata(metadata); ok {
			roundTripped(t, metadata)
		}
	})
}
