package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// split returns the JSON of an object as a view has it, without its resourceVersion, and the offset of the
// resourceVersion.
func split(t testing.TB, obj map[string]any, revision int64) Object {
	t.Helper()
	u := &unstructured.Unstructured{Object: obj}
	u.SetResourceVersion(fmt.Sprint(revision))
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return cut(t, encoded, revision)
}

func cut(t testing.TB, encoded []byte, revision int64) Object {
	t.Helper()
	member := fmt.Appendf(nil, `"resourceVersion":"%d",`, revision)
	at := bytes.Index(encoded, member)
	if at < 0 {
		t.Fatalf("no resourceVersion in %s", encoded)
	}
	return Object{Bytes: slices.Concat(encoded[:at], encoded[at+len(member):]), At: at, Revision: revision}
}

func gadget(name, text string) map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Gadget",
		"metadata":   map[string]any{"name": name, "namespace": "default", "uid": "u-" + name},
		"spec":       map[string]any{"text": text, "empty": map[string]any{}, "none": []any{}, "n": int64(3), "f": 0.5},
	}
}

var encoders = map[bool]runtime.Encoder{
	false: jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil,
		jsonserializer.SerializerOptions{StreamingCollectionsEncoding: true}),
	true: jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil,
		jsonserializer.SerializerOptions{Pretty: true}),
}

func TestListEqualsRuntimeEncoder(t *testing.T) {
	t.Parallel()
	texts := []string{"plain", "<html> & \u2028 \"quoted\" \\ \x01 é 世界", strings.Repeat("x", 40_000)}
	for _, count := range []int{0, 1, 3} {
		for _, next := range []string{"", "token"} {
			for _, pretty := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d items, continue %q, pretty %t", count, next, pretty), func(t *testing.T) {
					want := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{}}
					want.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1",
						Kind: "GadgetList"})
					want.SetResourceVersion("77")
					want.SetContinue(next)
					list := List{APIVersion: "example.com/v1", Kind: "GadgetList", ResourceVersion: "77",
						Continue: next, Pretty: pretty}
					if next != "" {
						list.RemainingItemCount = ptr.To[int64](12)
						want.SetRemainingItemCount(list.RemainingItemCount)
					}
					var items []Object
					for n := range count {
						obj := gadget(fmt.Sprint("g", n), texts[n])
						items = append(items, split(t, obj, int64(n+5)))
						want.Items = append(want.Items, unstructured.Unstructured{Object: obj})
					}
					compare(t, list, items, want, encoders[pretty])
				})
			}
		}
	}
}

func TestTypedListEqualsRuntimeEncoder(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	for _, count := range []int{0, 2} {
		for _, pretty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d items, pretty %t", count, pretty), func(t *testing.T) {
				encoder := info.Serializer
				if pretty {
					encoder = info.PrettySerializer
				}
				want := &apiextensions.CustomResourceDefinitionList{Items: []apiextensions.CustomResourceDefinition{}}
				want.ResourceVersion = "9"
				list := List{
					APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList", ResourceVersion: "9",
					Pretty: pretty,
					Typed:  true, ItemKind: "CustomResourceDefinition",
				}
				var items []Object
				for n := range count {
					crd := apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
						Name: fmt.Sprint("crd", n), UID: "u", ResourceVersion: "5", Generation: 1,
					}}
					want.Items = append(want.Items, crd)
					var v1 apiextensionsv1.CustomResourceDefinition
					if err := scheme.Convert(&crd, &v1, nil); err != nil {
						t.Fatal(err)
					}
					v1.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
					encoded, err := json.Marshal(v1)
					if err != nil {
						t.Fatal(err)
					}
					items = append(items, cut(t, encoded, 5))
				}
				compare(t, list, items, want, codecs.EncoderForVersion(encoder, apiextensionsv1.SchemeGroupVersion))
			})
		}
	}
}

func compare(t *testing.T, list List, items []Object, want runtime.Object, encoder runtime.Encoder) {
	t.Helper()
	var got, expected bytes.Buffer
	if err := list.Write(&got, slices.Values(items)); err != nil {
		t.Fatal(err)
	}
	if err := encoder.Encode(want, &expected); err != nil {
		t.Fatal(err)
	}
	if got.String() != expected.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), expected.String())
	}
	for limit, want := range map[int]bool{0: true, got.Len() - 1: true, got.Len(): false, got.Len() + 1: false} {
		if longer, err := list.Longer(limit, slices.Values(items)); err != nil || longer != want {
			t.Errorf("longer than %d of %d bytes: %t, %v", limit, got.Len(), longer, err)
		}
	}
	if !list.Pretty && len(items) > 0 {
		compareRuns(t, list, items, got.Bytes())
	}
}

// compareRuns makes the list of one or two compressed runs, for every way to split the items.
func compareRuns(t *testing.T, list List, items []Object, want []byte) {
	t.Helper()
	for at := 1; at <= len(items); at++ {
		got := gunzip(t, func(w *Gzip) error {
			_, err := w.Write(list.AppendHead(nil))
			err = errors.Join(err, w.WriteDeflated(list.Deflate(slices.Values(items[:at]))))
			if at < len(items) {
				_, comma := w.Write([]byte(","))
				err = errors.Join(err, comma, w.WriteDeflated(list.Deflate(slices.Values(items[at:]))))
			}
			_, tail := w.Write(list.AppendTail(nil, true))
			return errors.Join(err, tail)
		})
		if !bytes.Equal(got, want) {
			t.Errorf("runs of %d and %d items: got\n%s\nwant\n%s", at, len(items)-at, got, want)
		}
	}
}

func TestObjectEqualsRuntimeEncoder(t *testing.T) {
	t.Parallel()
	for _, pretty := range []bool{false, true} {
		obj := gadget("g", "<&>")
		object := split(t, obj, 12)
		for _, stored := range []Object{object, {Bytes: append(slices.Clone(object.Bytes), '\n'), At: object.At,
			Revision: 12}} {
			got := stored.Encode([]byte("kept"), pretty)
			var want bytes.Buffer
			want.WriteString("kept")
			if err := encoders[pretty].Encode(&unstructured.Unstructured{Object: obj}, &want); err != nil {
				t.Fatal(err)
			}
			if string(got) != want.String() {
				t.Errorf("pretty %t: got\n%q\nwant\n%q", pretty, got, want.String())
			}
		}
	}
}

func TestEventEqualsRuntimeEncoder(t *testing.T) {
	t.Parallel()
	obj := gadget("g", "<&>")
	object := split(t, obj, 12)
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	event := &metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: raw}}
	var want bytes.Buffer
	if err := json.NewEncoder(&want).Encode(event); err != nil {
		t.Fatal(err)
	}
	if got := AppendEvent(nil, string(watch.Modified), object); string(got) != want.String() {
		t.Errorf("got %q, want %q", got, want.String())
	}
	if got := AppendRawEvent(nil, string(watch.Modified), append(raw, '\n')); string(got) != want.String() {
		t.Errorf("raw: got %q, want %q", got, want.String())
	}
}

func BenchmarkList(b *testing.B) {
	object := split(b, gadget("g", strings.Repeat("x", 2000)), 12)
	items := func(yield func(Object) bool) {
		for range 10_000 {
			if !yield(object) {
				return
			}
		}
	}
	list := List{APIVersion: "example.com/v1", Kind: "GadgetList", ResourceVersion: "77"}
	b.ReportAllocs()
	for b.Loop() {
		if err := list.Write(io.Discard, items); err != nil {
			b.Fatal(err)
		}
	}
}
