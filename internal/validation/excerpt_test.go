package validation

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestManyFaults holds that an object with very many faults is refused at once, and told some of them; that faults which were there
// before do not count, however many; and that none hides behind them.
func TestManyFaults(t *testing.T) {
	const many = 20000
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
	before := processorTime(t)
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
		var got []string
		for _, err := range errs {
			got = append(got, err.Field)
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("an update of %s: %d errors, %.300s", name, len(errs), errs.ToAggregate())
		}
	}
	if took := processorTime(t) - before; took > time.Minute { // it was many minutes
		t.Errorf("took %s of processors", took)
	}
}

// processorTime is what this process has taken.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// manyFaultsVersion is a version whose list and fields are texts.
func manyFaultsVersion() *Version {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	texts := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}, Nullable: true}
	item := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"key"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"key": text, "value": text, "more": texts},
	}
	keyed := "map"
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
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
			}},
		}}},
	}}
	return New(crd).Version("v1")
}
