package validation

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// readCRD reads a CRD from testdata.
func readCRD(t testing.TB, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// object parses an object like the server does: integers stay integers.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{}
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func wrap(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: object(t, text)}
}

// widget returns a Widget in v1 with the given fields of its spec, in flow style.
func widget(spec string) string {
	return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, uid: u, resourceVersion: ` +
		`"1", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {` + spec + `}}`
}

// newSet returns the set of a CRD that is in memory with its schemas.
func newSet(crd *apiextensionsv1.CustomResourceDefinition) *Set {
	return New(crd, func() (*apiextensions.CustomResourceDefinition, error) {
		whole := &apiextensions.CustomResourceDefinition{}
		return whole, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd,
			whole, nil)
	})
}
