//go:build !library

package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// expensive is a pattern with 900 states, all of which stay alive in a text of many a.
const expensive = "(a?){900}b"

func textVersion(schema apiextensionsv1.JSONSchemaProps) *Version {
	crd := manyErrorsCRD()
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["text"] = schema
	return newSet(crd).Version("v1")
}

func withText(text any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"}, "text": text}}
}

// TestMatchingEndsWithRequest checks that no more of a string is matched when the context is done, also for the
// message, and that the string does not count as valid then.
func TestMatchingEndsWithRequest(t *testing.T) {
	t.Parallel()
	pattern := apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: expensive}
	either := apiextensionsv1.JSONSchemaProps{Type: "string", AnyOf: []apiextensionsv1.JSONSchemaProps{
		{Pattern: expensive}, {Pattern: "^c"}}}
	text := strings.Repeat("a", 1<<20)
	for name, schema := range map[string]apiextensionsv1.JSONSchemaProps{"pattern": pattern, "anyOf": either} {
		version := textVersion(schema)
		for _, looks := range []int{0, 1, 2, 20} {
			for how, errs := range map[string]func(ctx *countedContext) []string{
				"create": func(ctx *countedContext) []string { return texts(version.ValidateCreate(ctx, withText(text))) },
				"update": func(ctx *countedContext) []string {
					return texts(version.ValidateUpdate(ctx, withText(text), withText("b")))
				},
			} {
				ctx := &countedContext{t.Context(), looks}
				all := strings.Join(errs(ctx), "\n")
				if !strings.Contains(all, "there are more errors") {
					t.Errorf("%s, %s after %d looks: %.300s", name, how, looks, all)
				}
				if more := -ctx.left; more > 20 {
					t.Errorf("%s, %s after %d looks: looked %d times after the end", name, how, looks, more)
				}
			}
		}
	}
}

// TestLongTextsAgainstUpstream checks that long strings have the library's errors.
func TestLongTextsAgainstUpstream(t *testing.T) {
	t.Parallel()
	const length = 16 << 10 // more than is left to the library
	long := strings.Repeat("a", length)
	for name, schema := range map[string]apiextensionsv1.JSONSchemaProps{
		"pattern": {Type: "string", Pattern: "^a*$"},
		"length":  {Type: "string", Pattern: "^a*$", MaxLength: ptr.To[int64](length)},
		"short":   {Type: "string", Pattern: "^a*$", MinLength: ptr.To[int64](2 * length)},
		"format":  {Type: "string", Pattern: "^a*$", Format: "date"},
		"enum": {Type: "string", Pattern: "^a*$",
			Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"0"`)}}},
		"end":       {Type: "string", Pattern: "a$"},
		"boundary":  {Type: "string", Pattern: `a\b`},
		"alternate": {Type: "string", AllOf: []apiextensionsv1.JSONSchemaProps{{Pattern: "^a*$"}}},
	} {
		for _, text := range []string{"a", long, long + "a", long + "b", long + "é", long + "\n", "é" + long} {
			version := textVersion(schema)
			obj := withText(text)
			got := texts(version.ValidateCreate(t.Context(), obj))
			library := librarySchema{version: version}
			want := texts(library.validate(t.Context(), obj.Object))
			slices.Sort(got)
			slices.Sort(want)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %d bytes:\n got %.500q\nwant %.500q", name, len(text), got, want)
			}
		}
	}
}

// TestTextsThatTakeTooLong checks that strings are refused whose matches take more than a validation may spend, and
// that the work does not depend on the values around them. countedContext counts looks, which measure the work.
func TestTextsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	pattern, first := apiextensionsv1.JSONSchemaProps{Pattern: expensive}, apiextensionsv1.JSONSchemaProps{Pattern: "^a"}
	other := apiextensionsv1.JSONSchemaProps{Pattern: "^b"}
	type logic = []apiextensionsv1.JSONSchemaProps
	for name, test := range map[string]struct {
		schema apiextensionsv1.JSONSchemaProps
		length int
		want   string
	}{
		"long":            {pattern, 1 << 20, "takes too long to match with the pattern '" + expensive},
		"short enough":    {pattern, 10_000, "should match '" + expensive},
		"ends early":      {apiextensionsv1.JSONSchemaProps{Pattern: "^b.{900}c"}, 1 << 20, "should match '^b"},
		"matches":         {apiextensionsv1.JSONSchemaProps{Pattern: "^a.{900}"}, 1 << 20, ""},
		"another matches": {apiextensionsv1.JSONSchemaProps{AnyOf: logic{pattern, first}}, 1 << 20, ""},
		"no other":        {apiextensionsv1.JSONSchemaProps{AnyOf: logic{pattern, other}}, 1 << 20, "takes too long"},
		"excluded":        {apiextensionsv1.JSONSchemaProps{Not: &pattern}, 1 << 20, "takes too long"},
		"one of":          {apiextensionsv1.JSONSchemaProps{OneOf: logic{pattern, first}}, 1 << 20, "takes too long"},
		"behind another":  {apiextensionsv1.JSONSchemaProps{AllOf: logic{other, pattern}}, 70_000, "takes too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.schema.Type = "string"
			schema, value := test.schema, any(strings.Repeat("a", test.length))
			for range 10 {
				schema = apiextensionsv1.JSONSchemaProps{Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"text": schema}}
				value = map[string]any{"text": value}
			}
			version := textVersion(schema)
			ctx := &countedContext{t.Context(), 2 * maxMatching / matchPerCheck}
			all := strings.Join(texts(version.ValidateCreate(ctx, withText(value))), "\n")
			if ctx.left < 0 || !strings.Contains(all, test.want) || (all == "") != (test.want == "") {
				t.Errorf("%d looks left, %.100s ... %s", ctx.left, all, all[max(0, len(all)-200):])
			}
			if test.want != "" && !strings.Contains(all, "text.text") {
				t.Errorf("%.100s", all)
			}
		})
	}
}

// TestCheckEndsWithRequest checks that the check of a value ends with the context.
func TestCheckEndsWithRequest(t *testing.T) {
	t.Parallel()
	root := compileFast(t, manyErrorsVersion()).root
	list := make([]any, 100*workPerCheck)
	for i := range list {
		list[i] = "x"
	}
	obj := map[string]any{"list": list}
	if found := root.check(newVisit(t.Context()), obj); found != valid {
		t.Fatal(found)
	}
	for looks := range 50 {
		ctx := &countedContext{t.Context(), looks}
		if found := root.check(newVisit(ctx), obj); found != unknown || ctx.left != -1 {
			t.Fatalf("%d after %d looks, %d more", found, looks, -ctx.left)
		}
	}
}
