package validation

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// benchObject is an ordinary object: some metadata, managed fields, a spec and a status.
func benchObject(b *testing.B) *unstructured.Unstructured {
	return wrap(b, `{apiVersion: example.com/v1, kind: Widget,
		metadata: {name: w, namespace: default, uid: 5b0f4f0a-4ee8-4d5e-9f24-8a1e9a3a2f57, resourceVersion: "1", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z",
			labels: {app: a, tier: b}, annotations: {note: some text},
			managedFields: [{manager: kubectl, operation: Apply, apiVersion: example.com/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1,
				fieldsV1: {"f:spec": {"f:color": {}, "f:replicas": {}, "f:ports": {"k:{\"number\":1,\"protocol\":\"TCP\"}": {".": {}, "f:number": {}}}}}}]},
		spec: {color: red, replicas: 2, name: abc, weight: 1.5, port: 80, maybe: x, labels: {a: b}, tags: [a, b], limits: {cpu: 1m},
			ports: [{number: 1, protocol: TCP, note: x}, {number: 2, protocol: UDP}]},
		status: {replicas: 2, selector: a=b, phase: Ready, conditions: [{type: A, status: "True"}, {type: B}]}}`)
}

func BenchmarkCoerce(b *testing.B) {
	set, obj := New(readCRD(b, "widgets")), benchObject(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := set.Coerce(obj.Object, CoerceOptions{DropInvalidMetadata: true, RepairGeneration: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefault(b *testing.B) {
	set, obj := New(readCRD(b, "widgets")), benchObject(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Default(obj.Object); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSelectableFields(b *testing.B) {
	v, obj := New(readCRD(b, "widgets")).Version("v1"), benchObject(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.SelectableFields(obj.Object); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateCreate(b *testing.B) {
	v, obj := New(readCRD(b, "widgets")).Version("v1"), benchObject(b)
	b.ReportAllocs()
	for b.Loop() {
		if errs := v.ValidateCreate(context.Background(), obj); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkValidateUpdate(b *testing.B) {
	v, obj, old := New(readCRD(b, "widgets")).Version("v1"), benchObject(b), benchObject(b)
	if err := unstructured.SetNestedField(obj.Object, "blue", "spec", "color"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if errs := v.ValidateUpdate(context.Background(), obj, old); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkObjectToTyped(b *testing.B) {
	converter, err := New(readCRD(b, "widgets")).TypeConverter()
	if err != nil {
		b.Fatal(err)
	}
	obj := benchObject(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := converter.ObjectToTyped(obj); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile tells what the parts cost each CRD that needs them.
func BenchmarkCompile(b *testing.B) {
	crd := readCRD(b, "widgets")
	for _, part := range []struct {
		name    string
		compile func(v *Version) error
	}{
		{"nothing", func(*Version) error { return nil }},
		{"structural", func(v *Version) error { _, err := v.Structural(); return err }},
		{"object", func(v *Version) error { _, err := v.forObject(); return err }},
		{"rules", func(v *Version) error { _, err := v.forRules(); return err }},
		{"types", func(v *Version) error { _, err := v.parseableType.get(v.compileParseableType); return err }},
	} {
		b.Run(part.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := part.compile(New(crd).Version("v1")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
