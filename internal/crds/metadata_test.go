package crds

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// encodingsOf returns an object in the encodings that kube-apiserver stores.
func encodingsOf(t testing.TB, object runtime.Object) map[string][]byte {
	t.Helper()
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var inProtobuf, inCBOR bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &inProtobuf); err != nil {
		t.Fatal(err)
	}
	if err := cbor.NewSerializer(nil, nil).Encode(object, &inCBOR); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"JSON": encoded, "protobuf": inProtobuf.Bytes(), "CBOR": inCBOR.Bytes()}
}

func TestReadMetadata(t *testing.T) {
	blocks := true
	deleted := metav1.NewTime(time.Unix(1, 0))
	owners := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "1", BlockOwnerDeletion: &blocks},
		{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "2"},
	}
	for name, meta := range map[string]metav1.ObjectMeta{
		"empty":      {},
		"owned":      {UID: "u", OwnerReferences: owners, Labels: map[string]string{"a": "b"}},
		"finalizing": {UID: "u", Finalizers: []string{"orphan", "x"}, DeletionTimestamp: &deleted},
	} {
		object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
			Data: map[string]string{"ownerReferences": "none"}}
		want := Metadata{UID: meta.UID, Deleting: meta.DeletionTimestamp != nil, Finalizers: meta.Finalizers,
			OwnerReferences: meta.OwnerReferences}
		for encoding, value := range encodingsOf(t, object) {
			got, err := ReadMetadata(value)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s in %s: %+v, %v, want %+v", name, encoding, got, err, want)
			}
			header, err := ReadHeader(value)
			if err != nil || header.Deleting != want.Deleting || header.Labels.Get("a") != meta.Labels["a"] {
				t.Errorf("%s in %s: %+v, %v", name, encoding, header, err)
			}
		}
	}
}

func FuzzReadMetadata(f *testing.F) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "u", Finalizers: []string{"orphan"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Secret", UID: "1"}}}}
	for _, value := range encodingsOf(f, object) {
		f.Add(value)
	}
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, value []byte) {
		metadata, err := ReadMetadata(value)
		header, headerErr := ReadHeader(value)
		if err == nil && headerErr == nil && header.Deleting != metadata.Deleting {
			t.Errorf("%+v, %+v", metadata, header)
		}
	})
}
