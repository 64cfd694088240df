package managedfields

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestDiffersOtherwise(t *testing.T) {
	t.Parallel()
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	a := "{metadata: {name: a, managedFields: [{manager: m}]}, spec: {b: [1]}}"
	for text, want := range map[string]bool{
		a:                                       false,
		"{metadata: {name: a}, spec: {b: [1]}}": false,
		"{metadata: {name: a, managedFields: []}, spec: {b: [1]}}":                             false,
		"{metadata: {name: a, labels: {x: y}, managedFields: [{manager: m}]}, spec: {b: [1]}}": true,
		"{metadata: {name: a}, spec: {b: [2]}}":                                                true,
		"{metadata: {name: a}, spec: {b: [1]}, status: {}}":                                    true,
		"{spec: {b: [1]}}": true,
	} {
		if got := DiffersOtherwise(parse(a), parse(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
