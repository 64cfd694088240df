//go:build !library

package validation

// The library alone does not bound its work for objects with very many errors, so these tests would not end with the
// tag library.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"k8s.io/utils/ptr"
)

// TestManyErrors tests that an object with very many errors is refused with some of them, that errors of unchanged
// values do not count, and that they do not hide others. It counts the errors that the library finds, because the work
// of the library is quadratic in them.
func TestManyErrors(t *testing.T) {
	t.Parallel()
	const many = 10_000
	version := manyErrorsVersion()
	object := func(list []any, fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"}, "list": list,
			"fields": fields, "one": "x"}}
	}
	list, fields := make([]any, many), map[string]any{}
	for i := range list {
		list[i] = int64(i)
		fields[fmt.Sprint("f", i)] = int64(i)
	}
	good := object([]any{"a"}, map[string]any{"a": "b"})
	for name, obj := range map[string]*unstructured.Unstructured{"list": object(list, nil),
		"fields": object(nil, fields)} {
		for how, errs := range map[string]interface{ Error() string }{
			"create": version.ValidateCreate(t.Context(), obj).ToAggregate(),
			"update": version.ValidateUpdate(t.Context(), obj, good).ToAggregate(),
		} {
			message := errs.Error()
			if count := strings.Count(message, "must be of type string"); count < maxErrors/2 || count > maxErrors ||
				!strings.Contains(message, "there are more errors") {
				t.Errorf("%s of a %s: %d errors: %.300s", how, name, count, message)
			}
		}
	}
	keyed := make([]any, many)
	for i := range keyed {
		keyed[i] = map[string]any{"key": fmt.Sprint("k", i), "value": int64(i), "more": map[string]any{"a": int64(i)}}
	}
	root := compileFast(t, version).root
	schema, _ := version.openAPISchema()
	structural, _ := version.Structural()
	bad := object(list, fields)
	bad.Object["keyed"], bad.Object["needed"] = keyed, map[string]any{"fields": runtime.DeepCopyJSON(fields)}
	for name, test := range map[string]struct {
		change func(obj map[string]any)
		want   []string
	}{
		"something else": {func(obj map[string]any) { obj["one"] = "y" }, nil},
		"for the worse":  {func(obj map[string]any) { obj["one"] = int64(1) }, []string{"one"}},
		"fields": {func(obj map[string]any) {
			fields := obj["fields"].(map[string]any)
			fields["f7"], fields["f8"], fields["new"] = int64(-7), "right", int64(0)
			delete(fields, "f9")
		}, []string{"fields.f7", "fields.new"}},
		"items": {func(obj map[string]any) {
			keyed := obj["keyed"].([]any)
			slices.Reverse(keyed)
			keyed[8].(map[string]any)["value"], keyed[9].(map[string]any)["more"].(map[string]any)["b"] = int64(-8),
				int64(-9)
			obj["keyed"] = append(keyed[:20:20], keyed[21:]...)
		}, []string{"keyed[8].value", "keyed[9].more.b"}},
		"what is needed": {func(obj map[string]any) {
			obj["needed"].(map[string]any)["fields"].(map[string]any)["new"] = int64(0)
		}, []string{"needed.fields.new"}},
	} {
		obj := bad.DeepCopy()
		test.change(obj.Object)
		errs := version.ValidateUpdate(t.Context(), obj, bad)
		validator := &errorSearch{ctx: t.Context(), node: root, schema: schema, left: maxErrors, matching: newMatching()}
		change := newRatchet(structural, obj, bad)
		if result := validator.ValidateUpdate(obj.Object, bad.Object,
			change.schemaOptions()...); len(result.Errors)+len(result.Warnings) != len(test.want) {
			t.Errorf("an update of %s: the library found %d errors and %d to drop", name, len(result.Errors),
				len(result.Warnings))
		}
		var got []string
		for _, err := range errs {
			got = append(got, err.Field)
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("an update of %s: %d errors, %.300s", name, len(errs), errs.ToAggregate())
		}
	}
}

// countedContext is done after its error has been read a number of times.
type countedContext struct {
	context.Context
	left int
}

func (p *countedContext) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestErrorSearchEndsWithRequest tests that the search for errors ends with the context, and that the object does not
// count as valid then.
func TestErrorSearchEndsWithRequest(t *testing.T) {
	t.Parallel()
	version := manyErrorsVersion()
	object := func(items int) *unstructured.Unstructured {
		list := make([]any, items)
		for i := range list {
			list[i] = int64(i)
		}
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"}, "list": list,
			"one": "x"}}
	}
	for _, looks := range []int{0, 1, 2, 20} {
		ctx := func() context.Context { return &countedContext{t.Context(), looks} }
		for how, errs := range map[string][]string{
			"create": texts(version.ValidateCreate(ctx(), object(maxErrors/2))),
			"update": texts(version.ValidateUpdate(ctx(), object(maxErrors/2), object(0))),
		} {
			if all := strings.Join(errs, "\n"); len(errs) > looks+1 || !strings.Contains(all, "there are more errors") {
				t.Errorf("%s with %d looks: %d errors: %.300s", how, looks, len(errs), all)
			}
		}
	}
}

// TestManyErrorsInLogic tests that the library does not collect the errors of large values in branches of anyOf and
// similar keywords.
func TestManyErrorsInLogic(t *testing.T) {
	t.Parallel()
	const both = `"limited" must validate its schemas (allOf, anyOf, oneOf, not); it is too large to tell why it does not`
	version := manyErrorsVersion()
	with := func(field string, count int, item any) *unstructured.Unstructured {
		list := make([]any, count)
		for i := range list {
			list[i] = item
		}
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "namespace": "default"}, field: list, "one": int64(1)}}
	}
	for _, tc := range []struct {
		name string
		obj  *unstructured.Unstructured
		want []string // parts of the messages
	}{
		{"small", with("limited", 3, "a-"), []string{"limited[0]", "limited[1]", "limited[2]", "at least one schema",
			"one:"}},
		{"large and wrong", with("limited", maxLogicValues, "a-"), []string{both, "one:"}},
		{"large and right", with("limited", maxLogicValues, "b"), []string{"one:"}},
		{"small, of a schema without a compiled form", with("odd", 2, map[string]any{"a": "a-"}),
			[]string{"odd[0]", "odd[1]", "at least one schema", "one:"}},
		{"large and wrong, of a schema without a compiled form", with("odd", 100_000, map[string]any{"a": "a-"}),
			[]string{strings.ReplaceAll(both, "limited", "odd"), "one:"}},
		{"large and right, of a schema without a compiled form", with("odd", 100_000, map[string]any{"a": "b"}),
			[]string{"one:"}},
	} {
		errs := texts(version.ValidateCreate(t.Context(), tc.obj))
		all := strings.Join(errs, "\n")
		for _, want := range tc.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: no %q in %.300s", tc.name, want, all)
			}
		}
		if len(errs) != len(tc.want) {
			t.Errorf("%s: %d errors: %.500s", tc.name, len(errs), all)
		}
	}
}

// TestLogicByBranches tests that validating branch by branch has the same result as the library.
func TestLogicByBranches(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	var fitting, others int
	for fitting+others < 2000 {
		c := randomChoices(random)
		s := c.schema(3)
		value := c.value(&s, 3)
		structural, err := structuralschema.NewStructural(internalSchema(t, &s))
		if err != nil || !exceeds(value, 1) { // as all large values, it has others in it
			continue
		}
		_, whole, err := apiservervalidation.NewSchemaValidator(internalSchema(t, &s))
		if err != nil {
			t.Fatal(err)
		}
		logic := &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: whole.AllOf, AnyOf: whole.AnyOf, OneOf: whole.OneOf,
			Not: whole.Not}}
		if len(whole.AllOf)+len(whole.AnyOf)+len(whole.OneOf) == 0 && whole.Not == nil {
			continue
		}
		want := validate.NewSchemaValidator(logic, nil, "", strfmt.Default).Validate(value).IsValid()
		p := &valueValidator{search: &errorSearch{ctx: t.Context(), left: maxErrors, matching: newMatching()},
			node: compileNode(structural), schema: whole}
		if got := p.matchesLogic(value); got != want || p.search.incomplete {
			text, _ := json.Marshal(s)
			t.Fatalf("schema %s\nvalue %#v\nfits: %t, in the library %t", text, value, got, want)
		}
		if want {
			fitting++
		} else {
			others++
		}
	}
	t.Logf("%d values fit, %d do not", fitting, others)
}

// TestUnchangedErrorsAgainstUpstream tests that hundreds of errors, most of them of unchanged values, are reported as
// upstream reports them.
func TestUnchangedErrorsAgainstUpstream(t *testing.T) {
	t.Parallel()
	crd := manyErrorsCRD()
	main, _ := upstream(t, crd, &crd.Spec.Versions[0])
	ours := newSet(crd).Version("v1")
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		old := object(t,
			"{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: default, resourceVersion: \"1\"}, one: "+
				"x}")
		fields, list, keyed := map[string]any{}, []any{}, []any{}
		for i := range 50 {
			fields[fmt.Sprint("f", i)] = oddity(random)
			list = append(list, oddity(random))
			keyed = append(keyed, map[string]any{"key": fmt.Sprint("k", i), "value": oddity(random),
				"more": map[string]any{"a": oddity(random), "b": oddity(random)}})
		}
		old["fields"], old["list"], old["keyed"], old["needed"] = fields, list, keyed,
			map[string]any{"fields": runtime.DeepCopyJSON(fields), "more": oddity(random)}
		before := &unstructured.Unstructured{Object: old}
		after := mutate(random, before, 1+random.IntN(4))
		if random.IntN(2) == 0 {
			if keyed, ok := after.Object["keyed"].([]any); ok {
				slices.Reverse(keyed)
			}
		}
		want, got := texts(main.ValidateUpdate(t.Context(), after, before)),
			texts(ours.ValidateUpdate(t.Context(), after, before))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-upstream +ours):\n%s", round, diff)
		}
	}
}

// manyErrorsVersion returns a version with a list and fields that must be strings.
func manyErrorsVersion() *Version { return newSet(manyErrorsCRD()).Version("v1") }

func manyErrorsCRD() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	texts := apiextensionsv1.JSONSchemaProps{Type: "object",
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}, Nullable: true}
	item := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"key"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"key": text,
			"value": text, "more": texts},
	}
	keyed := "map"
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"one": text,
						"needed": {Type: "object", Required: []string{"fields"},
							Properties: map[string]apiextensionsv1.JSONSchemaProps{"fields": texts}},
						"keyed": {
							Type: "array", XListType: &keyed, XListMapKeys: []string{"key"},
							Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item},
						},
						"list": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
							Nullable: true},
						"fields": texts,
						"limited": {
							Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
							Nullable: true,
							AnyOf:    []apiextensionsv1.JSONSchemaProps{itemsLike("^a*$"), itemsLike("^b*$")},
						},
						"odd": {
							Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &texts},
							AnyOf: []apiextensionsv1.JSONSchemaProps{
								{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
									Enum: []apiextensionsv1.JSON{{Raw: []byte(`{"a":"b"}`)}},
								}}},
								{MaxItems: ptr.To[int64](1)},
							},
						},
					}},
			}}},
	}}
}

// itemsLike returns a branch for lists of items that match pattern.
func itemsLike(pattern string) apiextensionsv1.JSONSchemaProps {
	items := &apiextensionsv1.JSONSchemaProps{Pattern: pattern}
	return apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
}
