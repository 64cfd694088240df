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
	v := newSet(crd).Version("v1")
	for text, want := range map[string]bool{"{spec: {}}": false, "{status: {}}": true, "{status: null}": true} {
		if got, err := v.HasDefaulted(object(t, text)); err != nil || got != want {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
}
