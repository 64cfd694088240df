package validation

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

// TestManyFaults holds that an object with very many faults is refused at once, and told some of them; that faults which were there
// before do not count, however many; and that none hides behind them. The library's work
// is the square of what it finds, dropped or not: that is counted.
func TestManyFaults(t *testing.T) {
	const many = 10_000
	version := manyFaultsVersion()
	object := func(list []any, fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"}, "list": list, "fields": fields, "one": "x"}}
	}
	list, fields := make([]any, many), map[string]any{}
	for i := range list {
		list[i] = int64(i)
		fields[fmt.Sprint("f", i)] = int64(i)
	}
	good := object([]any{"a"}, map[string]any{"a": "b"})
	for name, obj := range map[string]*unstructured.Unstructured{"list": object(list, nil), "fields": object(nil, fields)} {
		for how, errs := range map[string]interface{ Error() string }{
			"create": version.ValidateCreate(t.Context(), obj).ToAggregate(), "update": version.ValidateUpdate(t.Context(), obj, good).ToAggregate(),
		} {
			message := errs.Error()
			if count := strings.Count(message, "must be of type string"); count < maxFaults/2 || count > maxFaults || !strings.Contains(message, "there are more errors") {
				t.Errorf("%s of a %s: %d errors: %.300s", how, name, count, message)
			}
		}
	}
	keyed := make([]any, many)
	for i := range keyed {
		keyed[i] = map[string]any{"key": fmt.Sprint("k", i), "value": int64(i), "more": map[string]any{"a": int64(i)}}
	}
	root, _ := version.root()
	schema, _ := version.forObject()
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
			keyed[8].(map[string]any)["value"], keyed[9].(map[string]any)["more"].(map[string]any)["b"] = int64(-8), int64(-9)
			obj["keyed"] = append(keyed[:20:20], keyed[21:]...)
		}, []string{"keyed[8].value", "keyed[9].more.b"}},
		"what is needed": {func(obj map[string]any) { obj["needed"].(map[string]any)["fields"].(map[string]any)["new"] = int64(0) }, []string{"needed.fields.new"}},
	} {
		obj := bad.DeepCopy()
		test.change(obj.Object)
		errs := version.ValidateUpdate(t.Context(), obj, bad)
		validator := &search{ctx: t.Context(), node: root, schema: schema, left: maxFaults}
		change := newRatchet(structural, obj, bad)
		if result := validator.ValidateUpdate(obj.Object, bad.Object, change.schemaOptions()...); len(result.Errors)+len(result.Warnings) != len(test.want) {
			t.Errorf("an update of %s: the library found %d faults and %d to drop", name, len(result.Errors), len(result.Warnings))
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

// patience is a context that is done when it has been looked at often enough.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestFaultsEndWithTheirRequest holds that the search for faults ends when nobody waits for them any more, and that an object does not pass for valid
// then.
func TestFaultsEndWithTheirRequest(t *testing.T) {
	version := manyFaultsVersion()
	object := func(items int) *unstructured.Unstructured {
		list := make([]any, items)
		for i := range list {
			list[i] = int64(i)
		}
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"}, "list": list, "one": "x"}}
	}
	for _, looks := range []int{0, 1, 2, 20} {
		ctx := func() context.Context { return &patience{t.Context(), looks} }
		for how, errs := range map[string][]string{
			"create": texts(version.ValidateCreate(ctx(), object(maxFaults/2))),
			"update": texts(version.ValidateUpdate(ctx(), object(maxFaults/2), object(0))),
		} {
			if all := strings.Join(errs, "\n"); len(errs) > looks+1 || !strings.Contains(all, "there are more errors") {
				t.Errorf("%s with %d looks: %d errors: %.300s", how, looks, len(errs), all)
			}
		}
	}
}

// TestManyFaultsInLogic holds that the library is not asked for the faults of large values in branches of anyOf and the like.
func TestManyFaultsInLogic(t *testing.T) {
	const both = `"limited" must validate its schemas (allOf, anyOf, oneOf, not); it is too large to tell why it does not`
	version := manyFaultsVersion()
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
		{"small", with("limited", 3, "a-"), []string{"limited[0]", "limited[1]", "limited[2]", "at least one schema", "one:"}},
		{"large and wrong", with("limited", maxLogic, "a-"), []string{both, "one:"}},
		{"large and right", with("limited", maxLogic, "b"), []string{"one:"}},
		{"small, of a schema we do not know", with("odd", 2, map[string]any{"a": "a-"}), []string{"odd[0]", "odd[1]", "at least one schema", "one:"}},
		{"large and wrong, of a schema we do not know", with("odd", 100_000, map[string]any{"a": "a-"}), []string{strings.ReplaceAll(both, "limited", "odd"), "one:"}},
		{"large and right, of a schema we do not know", with("odd", 100_000, map[string]any{"a": "b"}), []string{"one:"}},
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

// TestLogicByBranches holds that what is decided branch by branch is what the library says of all at once.
func TestLogicByBranches(t *testing.T) {
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
		logic := &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: whole.AllOf, AnyOf: whole.AnyOf, OneOf: whole.OneOf, Not: whole.Not}}
		if len(whole.AllOf)+len(whole.AnyOf)+len(whole.OneOf) == 0 && whole.Not == nil {
			continue
		}
		want := validate.NewSchemaValidator(logic, nil, "", strfmt.Default).Validate(value).IsValid()
		p := &place{search: &search{ctx: t.Context(), left: maxFaults}, node: compileNode(structural), schema: whole}
		if got := p.fitsLogic(value); got != want || p.search.cut {
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

// TestOldFaultsAgainstUpstream holds that of hundreds of faults, most of them old, those are told that upstream tells.
func TestOldFaultsAgainstUpstream(t *testing.T) {
	crd := manyFaultsCRD()
	main, _ := upstream(t, crd, &crd.Spec.Versions[0])
	ours := New(crd).Version("v1")
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		old := object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: default, resourceVersion: \"1\"}, one: x}")
		fields, list, keyed := map[string]any{}, []any{}, []any{}
		for i := range 50 {
			fields[fmt.Sprint("f", i)] = oddity(random)
			list = append(list, oddity(random))
			keyed = append(keyed, map[string]any{"key": fmt.Sprint("k", i), "value": oddity(random), "more": map[string]any{"a": oddity(random), "b": oddity(random)}})
		}
		old["fields"], old["list"], old["keyed"], old["needed"] = fields, list, keyed, map[string]any{"fields": runtime.DeepCopyJSON(fields), "more": oddity(random)}
		before := &unstructured.Unstructured{Object: old}
		after := mutate(random, before, 1+random.IntN(4))
		if random.IntN(2) == 0 {
			if keyed, ok := after.Object["keyed"].([]any); ok {
				slices.Reverse(keyed)
			}
		}
		want, got := texts(main.ValidateUpdate(t.Context(), after, before)), texts(ours.ValidateUpdate(t.Context(), after, before))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-upstream +ours):\n%s", round, diff)
		}
	}
}

// manyFaultsVersion is a version whose list and fields are texts.
func manyFaultsVersion() *Version { return New(manyFaultsCRD()).Version("v1") }

func manyFaultsCRD() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	texts := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}, Nullable: true}
	item := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"key"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"key": text, "value": text, "more": texts},
	}
	keyed := "map"
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"one":    text,
				"needed": {Type: "object", Required: []string{"fields"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"fields": texts}},
				"keyed": {
					Type: "array", XListType: &keyed, XListMapKeys: []string{"key"}, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item},
				},
				"list":   {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}, Nullable: true},
				"fields": texts,
				"limited": {
					Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}, Nullable: true,
					AnyOf: []apiextensionsv1.JSONSchemaProps{itemsLike("^a*$"), itemsLike("^b*$")},
				},
				"odd": {
					Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &texts},
					AnyOf: []apiextensionsv1.JSONSchemaProps{
						{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Enum: []apiextensionsv1.JSON{{Raw: []byte(`{"a":"b"}`)}}}}},
						{MaxItems: ptr.To[int64](1)},
					},
				},
			}},
		}}},
	}}
}

// itemsLike is a branch that lists with such items fit.
func itemsLike(pattern string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Pattern: pattern}}}
}
