package validation

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestHasDefaulted(t *testing.T) {
	t.Parallel()
	crd := readCRD(t, "machines")
	status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	status.Default = &apiextensionsv1.JSON{Raw: []byte(`{"phase":"Pending"}`)}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"] = status
	v := New(crd).Version("v1")
	for text, want := range map[string]bool{"{spec: {}}": false, "{status: {}}": true, "{status: null}": true} {
		if got, err := v.HasDefaulted(object(t, text)); err != nil || got != want {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
}

func TestSameExceptManagedFields(t *testing.T) {
	t.Parallel()
	a := "{metadata: {name: a, managedFields: [{manager: m}]}, spec: {b: [1]}}"
	for text, want := range map[string]bool{
		a:                                       true,
		"{metadata: {name: a}, spec: {b: [1]}}": true,
		"{metadata: {name: a, managedFields: []}, spec: {b: [1]}}":                             true,
		"{metadata: {name: a, labels: {x: y}, managedFields: [{manager: m}]}, spec: {b: [1]}}": false,
		"{metadata: {name: a}, spec: {b: [2]}}":                                                false,
		"{metadata: {name: a}, spec: {b: [1]}, status: {}}":                                    false,
		"{spec: {b: [1]}}": false,
	} {
		if got := SameExceptManagedFields(object(t, a), object(t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
