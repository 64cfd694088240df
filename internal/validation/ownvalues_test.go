package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

// TestOwnValues holds that a structural schema has values of its own, as they will have been stored, wherever in it they are.
func TestOwnValues(t *testing.T) {
	value := func(v any) *apiextensions.JSON { j := apiextensions.JSON(v); return &j }
	props := func() *apiextensions.JSONSchemaProps {
		return &apiextensions.JSONSchemaProps{
			Type: "object",
			Properties: map[string]apiextensions.JSONSchemaProps{
				"count":  {Type: "integer", Default: value(1.0), Enum: []apiextensions.JSON{1.0, int64(2), 2.5, "a", nil}},
				"object": {Type: "object", Default: value(map[string]any{"unknown": true, "known": "a"}), Properties: map[string]apiextensions.JSONSchemaProps{"known": {Type: "string"}}},
				"items":  {Type: "array", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &apiextensions.JSONSchemaProps{Type: "number", Example: value(3.0)}}},
			},
			AnyOf: []apiextensions.JSONSchemaProps{{Properties: map[string]apiextensions.JSONSchemaProps{"count": {Enum: []apiextensions.JSON{4.0}}}}},
		}
	}
	given := props()
	s, err := newStructural(given)
	if err != nil {
		t.Fatal(err)
	}
	if err := defaulting.PruneDefaults(s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(props(), given); diff != "" {
		t.Errorf("the CRD's values were modified: %s", diff)
	}
	count := s.Properties["count"]
	got := map[string]any{
		"default": count.Default.Object,
		"enum":    objects(count.ValueValidation.Enum),
		"pruned":  s.Properties["object"].Default.Object,
		"example": s.Properties["items"].Items.Example.Object,
		"nested":  objects(s.ValueValidation.AnyOf[0].Properties["count"].ValueValidation.Enum),
	}
	want := map[string]any{
		"default": int64(1),
		"enum":    []any{int64(1), int64(2), 2.5, "a", nil},
		"pruned":  map[string]any{"known": "a"},
		"example": int64(3),
		"nested":  []any{int64(4)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func objects(values []structuralschema.JSON) (all []any) {
	for _, value := range values {
		all = append(all, value.Object)
	}
	return all
}
