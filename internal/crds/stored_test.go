package crds

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// stripped returns the outline of a CRD as it is read from bytes, which is without unused metadata.
func stripped(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	bare := crd.DeepCopy()
	bare.Labels, bare.Annotations, bare.ManagedFields = nil, nil, nil
	return bare
}

// TestCachedValuesEqualDecoded compares what is cached of a value just written with what is decoded from its bytes.
func TestCachedValuesEqualDecoded(t *testing.T) {
	t.Parallel()
	for name, manifest := range manifests {
		t.Run(name, func(t *testing.T) {
			value, err := EncodeDefinition(internalOf(t, manifest))
			if err != nil {
				t.Fatal(err)
			}
			compareKnown(t, value)
			stored := opened(t, value)
			status := stored.Outline.Status.DeepCopy()
			status.AcceptedNames.ShortNames = append(status.AcceptedNames.ShortNames, "x<y")
			status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
				Type: "Terminating", Status: "True", Message: `a,"status":{`, LastTransitionTime: metav1.Now().Rfc3339Copy(),
			})
			other, err := stored.WithStatus(status)
			if err != nil {
				t.Fatal(err)
			}
			compareKnown(t, other)
			for _, from := range []*Stored{opened(t, slices.Clone(value)), opened(t, value)} {
				spliced, err := from.WithStatus(status)
				if err != nil {
					t.Fatal(err)
				}
				encoded, err := from.encodeWith(status)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(encoded), string(spliced)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func opened(t *testing.T, value []byte) *Stored {
	t.Helper()
	stored, err := Open(&dynamicstorage.Entry{Key: "k", Revision: 7, Value: value})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func compareKnown(t *testing.T, value []byte) {
	t.Helper()
	if recall(value) == nil {
		t.Fatal("the value is not cached")
	}
	remembered, read := opened(t, value), opened(t, slices.Clone(value))
	if diff := cmp.Diff(stripped(read.Outline), stripped(remembered.Outline)); diff != "" {
		t.Errorf("outline: %s", diff)
	}
	if string(read.known.spec) != string(remembered.known.spec) || read.known.statusAt != remembered.known.statusAt {
		t.Error("the positions of spec and status differ")
	}
}

func TestStatusOfOtherForms(t *testing.T) {
	t.Parallel()
	stored := opened(t, []byte(widgets))
	status := stored.Outline.Status.DeepCopy()
	status.StoredVersions = []string{"v1", "v1beta1"}
	value, err := stored.WithStatus(status)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(status, &opened(t, slices.Clone(value)).Outline.Status); diff != "" {
		t.Error(diff)
	}
}
