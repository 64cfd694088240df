//go:build !library

package validation

// The library alone does not limit the size of defaults.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestDefaultIsBounded tests that the size of defaults is limited: of items, of defaults within defaults, of nulls.
func TestDefaultIsBounded(t *testing.T) {
	t.Parallel()
	crd := manyErrorsCRD()
	large := strings.Repeat("x", 1000)
	defaulted := func(value any) *apiextensionsv1.JSON {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return &apiextensionsv1.JSON{Raw: raw}
	}
	item := apiextensionsv1.JSONSchemaProps{Type: "object", Default: defaulted(map[string]any{}),
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"text": {Type: "string", Default: defaulted(large)},
		}}
	items := &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
	lists := &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"items": {Type: "array", Items: items, Default: defaulted(make([]map[string]any, 1000))},
		}}}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"items": {Type: "array", Items: items}, "lists": {Type: "array", Items: lists},
		"named": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &item}},
	}
	set := newSet(crd)
	fits := MaxDefaults / (1 + 4 + 1 + 1000) // the text and its name
	named := func(count int) map[string]any {
		members := map[string]any{}
		for i := range count {
			members[fmt.Sprint(i)] = map[string]any{}
		}
		return members
	}
	list := func(count int, item func() any) []any {
		items := make([]any, count)
		for i := range items {
			items[i] = item()
		}
		return items
	}
	empty, null := func() any { return map[string]any{} }, func() any { return nil }
	for _, tc := range []struct {
		name, field string
		value       any
		want        error
	}{
		{"what fits", "items", list(fits, empty), nil},
		{"items", "items", list(100_000, empty), ErrTooLarge},
		{"nulls", "items", list(100_000, null), ErrTooLarge},
		{"members", "named", named(20_000), ErrTooLarge},
		{"defaults within defaults", "lists", list(1000, empty), ErrTooLarge},
	} {
		obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", tc.field: tc.value}
		if err := set.Default(obj, MaxDefaults); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
		size := minSize(obj[tc.field])
		if allowed := MaxDefaults + 300_000; size > allowed { // with the size of the original value
			t.Errorf("%s: %d bytes, allowed are %d", tc.name, size, allowed)
		}
	}
}
