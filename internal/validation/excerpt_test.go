package validation

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	const old = 2 * maxFaults // the library is left alone with these
	bad := object(list[:old], nil)
	same := bad.DeepCopy()
	same.Object["one"] = "y"
	if errs := version.ValidateUpdate(t.Context(), same, bad); len(errs) > 0 {
		t.Errorf("an update of something else: %d errors, %.300s", len(errs), errs.ToAggregate())
	}
	worse := bad.DeepCopy()
	worse.Object["one"] = int64(1)
	if errs := version.ValidateUpdate(t.Context(), worse, bad); len(errs) != 1 || errs[0].Field != "one" {
		t.Errorf("an update for the worse: %d errors, %.300s", len(errs), errs.ToAggregate())
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
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"one":    text,
				"list":   {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}, Nullable: true},
				"fields": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}, Nullable: true},
			}},
		}}},
	}}
	return New(crd).Version("v1")
}
