package definitions

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestSelectableFieldsWithoutStructure checks that selectable fields of a schema that is not structural are refused.
func TestSelectableFieldsWithoutStructure(t *testing.T) {
	t.Parallel()
	fields := []apiextensions.SelectableField{{JSONPath: ".spec.x"}}
	reference := "#/x"
	unfounded := &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
		Properties: map[string]apiextensions.JSONSchemaProps{"spec": {Ref: &reference}},
	}}
	rules := NewStrategy()
	versioned := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com",
		ResourceVersion: "1"}}
	versioned.Spec = apiextensions.CustomResourceDefinitionSpec{Group: "example.com",
		Versions: []apiextensions.CustomResourceDefinitionVersion{
			{Name: "v1", Served: true, Storage: true, Schema: unfounded, SelectableFields: fields},
			{Name: "v2", SelectableFields: fields},
		}}
	common := versioned.DeepCopy()
	common.Spec.Validation, common.Spec.SelectableFields, common.Spec.Versions = unfounded, fields,
		common.Spec.Versions[1:]
	empty := common.DeepCopy()
	empty.Spec.Validation.OpenAPIV3Schema = nil
	for path, crd := range map[string]*apiextensions.CustomResourceDefinition{
		"spec.versions[0].schema.openAPIV3Schema: Invalid value":                           versioned,
		"spec.schema.openAPIV3Schema: Invalid value: \"\": ":                               common,
		"spec.schema.openAPIV3Schema: Invalid value: \"\": is needed for selectableFields": empty,
	} {
		before := crd.DeepCopy()
		for _, errs := range []string{rules.Validate(t.Context(), crd).ToAggregate().Error(),
			rules.ValidateUpdate(t.Context(), crd, before).ToAggregate().Error()} {
			if !strings.Contains(errs, path) {
				t.Errorf("no %s in %s", path, errs)
			}
		}
		if !equalDefinitions(crd, before) {
			t.Error("the CRD was changed")
		}
	}
}

func equalDefinitions(a, b *apiextensions.CustomResourceDefinition) bool {
	encodedA, errA := crds.EncodeDefinition(a)
	encodedB, errB := crds.EncodeDefinition(b)
	return errA == nil && errB == nil && string(encodedA) == string(encodedB)
}
