package wire

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/utils/ptr"
)

// protobufOf returns an object as a view in protobuf has it. It sets the resourceVersion of the object to the revision.
func protobufOf(t testing.TB, c *corev1.ConfigMap, revision int64) Object {
	t.Helper()
	c.ResourceVersion = ""
	encoded, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	at, err := ProtobufVersion(encoded)
	if err != nil {
		t.Fatal(err)
	}
	c.ResourceVersion = strconv.FormatInt(revision, 10)
	kind := &runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	return Object{Bytes: encoded, At: at, Revision: revision, Protobuf: kind}
}

// library returns what runtime's encoder makes of an object.
func library(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	encoded, err := runtime.Encode(protobuf.NewSerializer(nil, nil), obj)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestProtobufEqualsRuntimeEncoder has objects whose lengths take one byte more because of the resourceVersion.
func TestProtobufEqualsRuntimeEncoder(t *testing.T) {
	t.Parallel()
	var items []Object
	list := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "77", Continue: "next", RemainingItemCount: ptr.To[int64](3)}}
	for _, revision := range []int64{0, 7, 1 << 30, math.MaxInt64} {
		for _, name := range []int{0, 1, 60, 80, 85, 90, 100, 16300, 16350} {
			c := &corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{
					Name: strings.Repeat("n", name), UID: "2\x02", Labels: map[string]string{"a": "b"},
				},
				Data: map[string]string{"k": "v"},
			}
			object := protobufOf(t, c, revision)
			items = append(items, object)
			list.Items = append(list.Items, *c)
			list.Items[len(list.Items)-1].TypeMeta = metav1.TypeMeta{}
			want := library(t, c)
			if got := object.Encode([]byte("kept"), false); string(got) != "kept"+string(want) {
				t.Errorf("%d, %d: object %q, want %q", revision, name, got, want)
			}
			if got := bytes.Join(object.texts(), nil); !bytes.Equal(got, want) {
				t.Errorf("%d, %d: texts %q, want %q", revision, name, got, want)
			}
			event, err := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: want}}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if got := AppendEvent([]byte("kept"), "ADDED", object); string(got) != "kept"+string(event) {
				t.Errorf("%d, %d: event %q, want %q", revision, name, got, event)
			}
		}
	}
	for _, n := range []int{0, 1, len(items)} {
		ours := List{APIVersion: "v1", Kind: "ConfigMapList", ResourceVersion: "77", Continue: "next",
			RemainingItemCount: ptr.To[int64](3), Protobuf: true, ItemsSize: ProtobufItems(slices.Values(items[:n]))}
		var got bytes.Buffer
		if err := ours.Write(&got, slices.Values(items[:n])); err != nil {
			t.Fatal(err)
		}
		theirs := *list
		theirs.Items = list.Items[:n]
		if want := library(t, &theirs); !bytes.Equal(got.Bytes(), want) {
			t.Errorf("list of %d: %q, want %q", n, got.Bytes(), want)
		}
	}
}

// FuzzProtobufVersion inserts the resourceVersion into any object, and compares with the library's encoding of it.
func FuzzProtobufVersion(f *testing.F) {
	meta := metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"2": "\x00"}}
	seed := protobufOf(f, &corev1.ConfigMap{ObjectMeta: meta}, 1)
	f.Add(seed.Bytes, int64(12))
	f.Add([]byte{0x0a, 0x02, 0x32, 0x00}, int64(1))
	f.Add([]byte{0x0a, 0xff}, int64(1))
	f.Fuzz(func(t *testing.T, data []byte, revision int64) {
		at, err := ProtobufVersion(data)
		if err == nil && (at <= metadataOffset || at >= len(data) || data[at] != 0) {
			t.Fatalf("offset %d of %q", at, data)
		}
		c := &corev1.ConfigMap{}
		if c.Unmarshal(data) != nil || revision < 0 {
			return
		}
		object := protobufOf(t, c, revision)
		want, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := object.appendProtobuf(nil); !bytes.Equal(got, want) || object.protobufSize() != len(want) {
			t.Errorf("%q of %d bytes, want %q", got, object.protobufSize(), want)
		}
	})
}
