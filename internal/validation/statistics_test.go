package validation

import (
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// TestStatistics checks that everything that takes much memory is counted.
func TestStatistics(t *testing.T) {
	t.Parallel()
	branches := []structuralschema.NestedValueValidation{{}, {
		Properties: map[string]structuralschema.NestedValueValidation{"a": {
			ValueValidation: structuralschema.ValueValidation{Pattern: "a{10}"},
		}},
	}}
	var stats schemaStatistics
	stats.add(structuralschema.Structural{
		ValidationExtensions: structuralschema.ValidationExtensions{XValidations: rulesOf("true", "self.x == 1")},
		Properties: map[string]structuralschema.Structural{
			"x": {ValueValidation: &structuralschema.ValueValidation{Enum: make([]structuralschema.JSON, 7)}},
			"y": {
				ValidationExtensions: structuralschema.ValidationExtensions{XValidations: rulesOf("true")},
				ValueValidation:      &structuralschema.ValueValidation{AnyOf: branches, Not: &branches[1]},
			},
		},
	})
	want := schemaStatistics{
		nodes: 3, branches: 5, rules: 3, ruleText: 19, ruleNodes: 4, enum: 7, instructions: 20,
	}
	if !reflect.DeepEqual(stats, want) {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

func rulesOf(texts ...string) apiextensionsv1.ValidationRules {
	rules := make(apiextensionsv1.ValidationRules, len(texts))
	for n, text := range texts {
		rules[n].Rule = text
	}
	return rules
}
