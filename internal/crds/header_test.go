package crds

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestReadHeader(t *testing.T) {
	want := dynamicstorage.Header{Labels: dynamicstorage.PairsOf(map[string]string{"a": "b", "é": "\n"}), Deleting: true}
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "x", "uid": "u-1", "labels": map[string]any{"a": "b", "é": "\n"},
			"deletionTimestamp": "2026-01-01T00:00:00Z", "managedFields": []any{map[string]any{"manager": "uid"}},
		},
		"spec": map[string]any{"metadata": map[string]any{"uid": "not this"}},
	}
	cborValue, err := direct.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	jsonValue, err := (&unstructured.Unstructured{Object: object}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{
		"JSON": jsonValue, "CBOR": append(slices.Clone(cborPrefix), cborValue...),
		"metadata last": []byte(`{"spec":{"metadata":{"uid":"no"}},"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",` +
			`"labels":{"a":"b","é":"\n"},"uid":"u-1"}}`),
	} {
		got, err := ReadHeader(value)
		if err != nil || got != want {
			t.Errorf("%s: got %+v %v", name, got, err)
		}
	}
	if got, err := ReadHeader([]byte(`{"metadata":{"labels":null,"deletionTimestamp":null,"uid":null}}`)); err != nil ||
		got != (dynamicstorage.Header{}) {
		t.Errorf("nulls: got %+v %v", got, err)
	}
	for _, bad := range []string{"", "{", "null", "[]", `"x"`, "{}", `{"metadata":7}`, `{"metadata":{"labels":{"a":1}}}`,
		`{"metadata":{"labels":[]}}`, `{"metadata":{"uid":"a"`, "k8s\x00nonsense", "\xd9\xd9\xf7\xff"} {
		if got, err := ReadHeader([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v", bad, got)
		}
	}
}

// protobufValue returns an object as kube-apiserver stores it.
func protobufValue(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	encoder := protobuf.NewSerializer(scheme, scheme)
	versioned := serializer.NewCodecFactory(scheme).EncoderForVersion(encoder, corev1.SchemeGroupVersion)
	value, err := runtime.Encode(versioned, object)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestReadProtobufHeader(t *testing.T) {
	labels := map[string]string{"a": "b", "é": "\n"}
	now := metav1.Now()
	meta := metav1.ObjectMeta{Name: "x", Labels: labels, DeletionTimestamp: &now, Finalizers: []string{"f"}}
	want := dynamicstorage.Header{Labels: dynamicstorage.PairsOf(labels), Deleting: true}
	for _, object := range []runtime.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"key": []byte("value")}},
		&corev1.Namespace{ObjectMeta: meta, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}}},
		&corev1.Event{ObjectMeta: meta, InvolvedObject: corev1.ObjectReference{Name: "other"}},
	} {
		if got, err := ReadHeader(protobufValue(t, object)); err != nil || got != want {
			t.Errorf("%T: got %+v %v", object, got, err)
		}
	}
	value := protobufValue(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	if got, err := ReadHeader(value); err != nil || got != (dynamicstorage.Header{}) {
		t.Errorf("without labels: got %+v %v", got, err)
	}
	if got, err := ReadHeader(value[:len(value)-5]); err == nil {
		t.Errorf("truncated: got %+v", got)
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(protobufValue(f, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}}))
	f.Add([]byte(`{"metadata":{"uid":"u","labels":{"a":"b"},"deletionTimestamp":"x"}}`))
	f.Add([]byte("\xd9\xd9\xf7\xa1Hmetadata\xa1Cuid\x41u"))
	f.Fuzz(func(_ *testing.T, value []byte) {
		_, _ = ReadHeader(value) // must not panic
	})
}

func BenchmarkReadHeader(b *testing.B) {
	value := []byte(`{"apiVersion":"example.com/v1","kind":"Thing",` +
		`"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"app":"a","tier":"b"},` +
		`"managedFields":[{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:items":{},` +
		`"f:replicas":{}}},"manager":"kubectl","operation":"Update","time":"2026-01-01T00:00:00Z"}],"name":"n",` +
		`"namespace":"default","uid":"0b5d6b2e-7a55-4b87-9d5c-2b8f2a3c4d5e"},"spec":{}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadHeader(value); err != nil {
			b.Fatal(err)
		}
	}
}
