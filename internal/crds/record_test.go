package crds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func entryOf(name string, revision int64, value []byte) *dynamicstorage.Entry {
	return &dynamicstorage.Entry{Key: name, Revision: revision, Value: value}
}

func recordOfValue(t *testing.T, name string, revision int64, value []byte) *Record {
	t.Helper()
	r, err := NewRecord(entryOf(name, revision, value))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordEqualsCompleteDecode compares decoding without schemas with complete decoding.
func TestRecordEqualsCompleteDecode(t *testing.T) {
	t.Parallel()
	for _, manifest := range []string{widgets, ancient} {
		crd := internalOf(t, manifest)
		t.Run(crd.Name, func(t *testing.T) {
			full, err := ToV1(crd)
			if err != nil {
				t.Fatal(err)
			}
			values := encodings(t, crd)
			values["as it was"] = []byte(manifest)
			for name, value := range values {
				got := recordOfValue(t, crd.Name, 9, value)
				want := newRecord(full, got.entry)
				ignore := []cmp.Option{cmpopts.IgnoreFields(Record{}, "SpecHash"), cmpopts.IgnoreUnexported(Record{})}
				if diff := cmp.Diff(want, got, ignore...); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
				whole, err := got.Internal()
				if err != nil {
					t.Fatal(err)
				}
				definition, err := ToV1(whole)
				if err != nil {
					t.Fatal(err)
				}
				full.ResourceVersion = "9"
				if diff := cmp.Diff(full, definition); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	r := recordOfValue(t, "widgets.example.com", 9, []byte(encoded(t, internalOf(t, widgets))))
	if r.StorageVersion() != "v1" || !r.NamesAccepted || !r.Established || r.Terminating || !r.Namespaced ||
		r.NonStructural {
		t.Errorf("%+v", r)
	}
	if v := r.Version("v1"); v == nil || !v.Status || !v.Scale || v.Deprecated {
		t.Errorf("v1: %+v", v)
	}
	if v := r.Version("v1beta1"); v == nil || v.Status || v.Scale || !v.Deprecated || v.DeprecationWarning != "do not" {
		t.Errorf("v1beta1: %+v", v)
	}
	if v := r.Version("v2"); v != nil {
		t.Errorf("v2: %+v", v)
	}
	if !r.HasFinalizer("example.com/hold") || r.HasFinalizer("other") {
		t.Errorf("finalizers: %v", r.Finalizers)
	}
	if r.Labels != nil || r.Annotations != nil || r.ManagedFields != nil {
		t.Errorf("unused metadata is kept: %+v", r.ObjectMeta)
	}
}

func encoded(t *testing.T, crd *apiextensions.CustomResourceDefinition) []byte {
	t.Helper()
	value, err := EncodeDefinition(crd)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSpecHash(t *testing.T) {
	t.Parallel()
	base := recordOfValue(t, "widgets.example.com", 1, encoded(t, internalOf(t, widgets)))
	for name, value := range encodings(t, internalOf(t, widgets)) {
		if got := recordOfValue(t, "widgets.example.com", 2, value).SpecHash; got != base.SpecHash {
			t.Errorf("%s: hash differs", name)
		}
	}
	for name, tc := range map[string]struct {
		change func(*apiextensions.CustomResourceDefinition)
		same   bool
	}{
		"metadata":   {func(c *apiextensions.CustomResourceDefinition) { c.Labels, c.Generation = nil, 9 }, true},
		"conditions": {func(c *apiextensions.CustomResourceDefinition) { c.Status.Conditions = nil }, true},
		"storedVersions": {func(c *apiextensions.CustomResourceDefinition) { c.Status.StoredVersions = []string{"v1", "v2"} },
			true},
		"accepted names": {func(c *apiextensions.CustomResourceDefinition) { c.Status.AcceptedNames.Kind = "Other" }, false},
		"schema": {func(c *apiextensions.CustomResourceDefinition) {
			c.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "x"
		}, false},
		"served": {func(c *apiextensions.CustomResourceDefinition) { c.Spec.Versions[1].Served = false }, false},
	} {
		crd := internalOf(t, widgets)
		tc.change(crd)
		got := recordOfValue(t, "widgets.example.com", 3, encoded(t, crd))
		if (got.SpecHash == base.SpecHash) != tc.same {
			t.Errorf("%s: same hash %t, want %t", name, !tc.same, tc.same)
		}
	}
}

func TestNewRecordRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	_, err := NewRecord(entryOf("gadgets.example.com", 1, encoded(t, internalOf(t, widgets))))
	if err == nil || !strings.Contains(err.Error(), "gadgets.example.com") {
		t.Errorf("got %v", err)
	}
}

func FuzzNewRecord(f *testing.F) {
	f.Add([]byte(widgets))
	f.Add([]byte(ancient))
	f.Add([]byte("k8s\x00"))
	f.Add([]byte("\xd9\xd9\xf7\xa0"))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := NewRecord(&dynamicstorage.Entry{Key: "olds.example.com", Revision: 1, Value: value})
		if err == nil && r.Name != "olds.example.com" {
			t.Errorf("record of another name: %q", r.Name)
		}
	})
}
