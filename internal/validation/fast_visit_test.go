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
	return New(crd).Version("v1")
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
	long := strings.Repeat("a", maxPlainText)
	for name, schema := range map[string]apiextensionsv1.JSONSchemaProps{
		"pattern":   {Type: "string", Pattern: "^a*$"},
		"length":    {Type: "string", Pattern: "^a*$", MaxLength: ptr.To[int64](maxPlainText)},
		"short":     {Type: "string", Pattern: "^a*$", MinLength: ptr.To[int64](2 * maxPlainText)},
		"format":    {Type: "string", Pattern: "^a*$", Format: "date"},
		"enum":      {Type: "string", Pattern: "^a*$", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"0"`)}}},
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
