package validation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// benchCase is a CRD and a complete object of its first version, with managed fields.
type benchCase struct {
	name string
	crd  *apiextensionsv1.CustomResourceDefinition
	obj  *unstructured.Unstructured
}

// benchCases are an ordinary CRD with an object of 2.3 KB, a CRD with every feature, a sample, and a CRD as large as
// the largest in use.
func benchCases(b testing.TB) []benchCase {
	return []benchCase{
		{"machine", readCRD(b, "machines"), machine(b)},
		{"widget", readCRD(b, "widgets"), benchObject(b)},
		{"database", readSample(b, "databases.yaml"), sampleObject(b, "databases.yaml")},
		{"crontab", readSample(b, "crontabs.yaml"), sampleObject(b, "crontabs.yaml")},
		{"website", readSample(b, "websites.yaml"), sampleObject(b, "websites.yaml")},
		{"large", largeCRD(), largeObject(b)},
	}
}

// machine is an object of machines.yaml, 2.3 KB of JSON.
func machine(t testing.TB) *unstructured.Unstructured {
	obj := wrap(t, `{apiVersion: example.com/v1, kind: Machine,
		metadata: {name: machine-000001, namespace: bench, uid: 5b0f4f0a-4ee8-4d5e-9f24-8a1e9a3a2f57, resourceVersion: "1",
		  generation: 1, creationTimestamp: "2026-01-01T00:00:00Z",
			labels: {app.kubernetes.io/name: machine, app.kubernetes.io/part-of: bench, shard: s1},
			managedFields: [{manager: bench, operation: Update, apiVersion: example.com/v1, time: "2026-01-01T00:00:00Z",
			  fieldsType: FieldsV1,
				fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/part-of": {},
				"f:shard": {}}},
					"f:spec": {".": {}, "f:maxReplicas": {}, "f:paused": {}, "f:replicas": {}, "f:strategy": {".": {},
					"f:maxSurge": {}, "f:type": {}}, "f:parts": {".": {}}}}}]},
		spec: {replicas: 1, maxReplicas: 10000, paused: false, strategy: {type: Rolling, maxSurge: 1}, parts: []}}`)
	manager := obj.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
	owned := manager["fieldsV1"].(map[string]any)["f:spec"].(map[string]any)["f:parts"].(map[string]any)
	spec := obj.Object["spec"].(map[string]any)
	var parts []any
	for n := range 8 {
		parts = append(parts,
			object(t,
				fmt.Sprintf(`{name: part-%d, image: "registry.example.com/team/part-%d:1.1", port: %d, protocol: TCP}`,
					n, n, 8080+n)))
		owned[fmt.Sprintf(`k:{"name":"part-%d"}`, n)] = object(t,
			`{".": {}, "f:image": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}`)
	}
	spec["parts"] = parts
	return obj
}

// benchObject is an ordinary object of widgets.yaml: some metadata, managed fields, a spec and a status.
func benchObject(b testing.TB) *unstructured.Unstructured {
	return wrap(b, `{apiVersion: example.com/v1, kind: Widget,
		metadata: {name: w, namespace: default, uid: 5b0f4f0a-4ee8-4d5e-9f24-8a1e9a3a2f57, resourceVersion: "1",
		  generation: 1, creationTimestamp: "2026-01-01T00:00:00Z",
			labels: {app: a, tier: b}, annotations: {note: some text},
			managedFields: [{manager: kubectl, operation: Apply, apiVersion: example.com/v1, time: "2026-01-01T00:00:00Z",
			  fieldsType: FieldsV1,
				fieldsV1: {"f:spec": {"f:color": {}, "f:replicas": {},
				"f:ports": {"k:{\"number\":1,\"protocol\":\"TCP\"}": {".": {}, "f:number": {}}}}}}]},
		spec: {color: red, replicas: 2, name: abc, weight: 1.5, port: 80, maybe: x, labels: {a: b}, tags: [a, b],
		limits: {cpu: 1m},
			ports: [{number: 1, protocol: TCP, note: x}, {number: 2, protocol: UDP}]},
		status: {replicas: 2, selector: a=b, phase: Ready, conditions: [{type: A, status: "True"}, {type: B}]}}`)
}

// readSample reads the CRD of one of the project's samples.
func readSample(t testing.TB, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", name))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// sampleObject reads the first object of a sample, with defaults and the metadata that the server adds.
func sampleObject(t testing.TB, name string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "objects", name))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n---")
	obj := wrap(t, first)
	obj.SetNamespace("default")
	obj.SetUID("5b0f4f0a-4ee8-4d5e-9f24-8a1e9a3a2f57")
	obj.SetResourceVersion("1")
	obj.SetGeneration(1)
	if err := newSet(readSample(t, name)).Default(obj.Object, MaxDefaults); err != nil {
		t.Fatal(err)
	}
	return obj
}

// largeCRD returns a CRD whose schema has about four thousand nodes, as those of cloud providers. An object uses few of
// them.
func largeCRD() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group, crd.Spec.Scope = "larges.example.com", "example.com", apiextensionsv1.ClusterScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "larges", Kind: "Large"}
	var level func(depth int) apiextensionsv1.JSONSchemaProps
	level = func(depth int) apiextensionsv1.JSONSchemaProps {
		text, number := apiextensionsv1.JSONSchemaProps{Type: "string", Description: "some text"},
			apiextensionsv1.JSONSchemaProps{Type: "number"}
		s := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for n := range 8 {
			s.Properties[fmt.Sprintf("text%d", n)] = text
		}
		s.Properties["size"] = number
		s.Properties["tags"] = apiextensionsv1.JSONSchemaProps{Type: "object",
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}}
		for n := 0; depth > 0 && n < 3; n++ {
			deeper := level(depth - 1)
			s.Properties[fmt.Sprintf("block%d", n)] = apiextensionsv1.JSONSchemaProps{Type: "array",
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &deeper}}
		}
		return s
	}
	spec, status := level(4), level(3)
	spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "!has(self.text0) || self.text0 != self.text1",
		Message: "texts must differ"}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status},
		}},
	}}
	return crd
}

func largeObject(t testing.TB) *unstructured.Unstructured {
	const block = `text0: a, text1: b, text2: c, text3: some longer text, size: 1.5, tags: {a: b, c: d}`
	deep := "{" + block + ", block1: [{" + block + "}, {" + block + ", block0: [{" + block + "}]}], block2: [{" +
		block + "}]}"
	return wrap(t,
		`{apiVersion: example.com/v1, kind: Large, metadata: {name: large, uid: u, resourceVersion: "1", generation: 1,
creationTimestamp: "2026-01-01T00:00:00Z"},
		spec: `+deep+`, status: `+deep+`}`)
}

// eachCase runs a benchmark for each case.
func eachCase(b *testing.B, run func(b *testing.B, c benchCase, v *Version)) {
	for _, c := range benchCases(b) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, c, newSet(c.crd).Version(c.crd.Spec.Versions[0].Name))
		})
	}
}

func BenchmarkCoerceRequest(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			if _, err := v.set.Coerce(c.obj.Object, CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCoerceStored(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			if _, err := v.set.Coerce(c.obj.Object, CoerceOptions{DropInvalidMetadata: true,
				RepairGeneration: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDefault(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			if err := v.set.Default(c.obj.Object, MaxDefaults); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSelectableFields(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			v.SelectableFields(c.obj.Object)
		}
	})
}

func BenchmarkValidateCreate(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			if errs := v.ValidateCreate(context.Background(), c.obj); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
}

// changed returns an object with another label.
func changed(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetLabels(map[string]string{"changed": "yes"})
	return obj
}

func BenchmarkValidateUpdate(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		old := changed(c.obj)
		for b.Loop() {
			if errs := v.ValidateUpdate(context.Background(), c.obj, old); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
}

func BenchmarkValidateStatusUpdate(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		old := changed(c.obj)
		for b.Loop() {
			if errs := v.ValidateStatusUpdate(context.Background(), c.obj, old); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
}

// BenchmarkRejected validates an update that a rule refuses.
func BenchmarkRejected(b *testing.B) {
	v, old := newSet(readCRD(b, "machines")).Version("v1"), machine(b)
	obj := old.DeepCopy()
	obj.Object["spec"].(map[string]any)["replicas"] = int64(10001)
	b.ReportAllocs()
	for b.Loop() {
		if errs := v.ValidateUpdate(context.Background(), obj, old); len(errs) != 1 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkPrepareForUpdate(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		old := changed(c.obj)
		for b.Loop() {
			v.PrepareForUpdate(c.obj, old)
		}
	})
}

func BenchmarkPrepareForStatusUpdate(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		old := changed(c.obj)
		for b.Loop() {
			v.PrepareForStatusUpdate(c.obj, old)
		}
	})
}

func BenchmarkObjectToTyped(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		for b.Loop() {
			if _, err := v.set.types.ObjectToTyped(c.obj); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTypedToObject(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, v *Version) {
		value, err := v.set.types.ObjectToTyped(c.obj)
		if err != nil {
			b.Fatal(err)
		}
		var obj runtime.Object
		for b.Loop() {
			if obj, err = v.set.types.TypedToObject(value); err != nil {
				b.Fatal(err)
			}
		}
		_ = obj
	})
}

// BenchmarkCompile compiles each part of a version.
func BenchmarkCompile(b *testing.B) {
	for _, part := range []struct {
		name    string
		compile func(v *Version) error
	}{
		{"nothing", func(*Version) error { return nil }},
		{"structural", func(v *Version) error { _, err := v.Structural(); return err }},
		{"object", func(v *Version) error { _, err := v.openAPISchema(); return err }},
		{"rules", func(v *Version) error { _, err := v.rules(); return err }},
		{"types", func(v *Version) error { _, err := v.parseableType.get(v.compileParseableType); return err }},
	} {
		b.Run(part.name, func(b *testing.B) {
			eachCase(b, func(b *testing.B, c benchCase, v *Version) {
				for b.Loop() {
					if err := part.compile(newSet(c.crd).Version(v.Name())); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
