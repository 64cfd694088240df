package validation

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
)

// TestTrim holds that the library's walks find by a trimmed schema what they find by the whole one.
func TestTrim(t *testing.T) {
	set := "set"
	strings := structuralschema.Structural{Generic: structuralschema.Generic{Type: "array"}, Extensions: structuralschema.Extensions{XListType: &set}}
	embedded := structuralschema.Structural{Extensions: structuralschema.Extensions{XEmbeddedResource: true}}
	text := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	// Properties beside additional ones are not structural, but relics have them.
	whole := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"spec": {
			Properties:           map[string]structuralschema.Structural{"color": text, "tags": strings, "plain": {Properties: map[string]structuralschema.Structural{"a": text}}},
			AdditionalProperties: &structuralschema.StructuralOrBool{Structural: &embedded},
		},
		"status": {
			Items:                &strings,
			AdditionalProperties: &structuralschema.StructuralOrBool{Structural: &strings},
			Properties:           map[string]structuralschema.Structural{"phase": text, "conditions": {Items: &embedded}},
		},
		"other": text,
	}}
	byEmbedded := trim(whole, func(s *structuralschema.Structural) bool { return s.XEmbeddedResource })
	byList := trim(whole, func(s *structuralschema.Structural) bool { return s.XListType != nil })
	if _, ok := byEmbedded.Properties["other"]; ok {
		t.Error("what leads nowhere should be trimmed")
	}
	if trim(&text, func(*structuralschema.Structural) bool { return false }) != nil || trim(nil, nil) != nil {
		t.Error("nothing should remain of a schema without what is to be kept")
	}

	random := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		obj := mutate(random, randomObject(t, random, "Widget", "v1"), 3)
		ctx := context.Background()
		if diff := cmp.Diff(counts(texts(objectmeta.Validate(ctx, nil, obj.Object, whole, false))), counts(texts(objectmeta.Validate(ctx, nil, obj.Object, byEmbedded, false)))); diff != "" {
			t.Fatalf("embedded resources of %v (-whole +trimmed):\n%s", obj.Object, diff)
		}
		if diff := cmp.Diff(counts(texts(listtype.ValidateListSetsAndMaps(nil, whole, obj.Object))), counts(texts(listtype.ValidateListSetsAndMaps(nil, byList, obj.Object)))); diff != "" {
			t.Fatalf("lists of %v (-whole +trimmed):\n%s", obj.Object, diff)
		}
	}
}

// counts forgets the order, which is random.
func counts(texts []string) map[string]int {
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	return counts
}
