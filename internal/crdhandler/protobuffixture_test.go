package crdhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// protobufFixture serves the built-in resources, with random objects of one of them, in etcd.
type protobufFixture struct {
	t      *testing.T
	url    string
	prefix string
	set    *builtin.Set
	row    *resource.Definition
	// path is that of the objects, begun the revision before they were stored.
	path  string
	begun int64
	// audited says that the audit log has the objects of the answers, which are not copied from views then.
	audited bool
}

// newProtobuf stores count random objects of a row. Every second one has the label half=true.
func newProtobuf(t *testing.T, row *resource.Definition, count int) *protobufFixture {
	t.Helper()
	set, err := builtin.NewSet([]*resource.Definition{row})
	if err != nil {
		t.Fatal(err)
	}
	prefix := etcd.Prefix(t)
	handler := withRequestInfo(newHandler(t, etcd.Client, prefix, http.NotFoundHandler(), row))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := audit.WithAuditContext(req.Context())
		level := auditinternal.Level(req.Header.Get("Level"))
		if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: level}, nil); err != nil {
			t.Error(err)
		}
		handler.ServeHTTP(w, req.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	f := &protobufFixture{t: t, url: server.URL, prefix: prefix, set: set, row: row,
		path: "/apis/" + row.GroupVersion.String() + "/" + row.Plural}
	if row.GroupVersion.Group == "" {
		f.path = "/api/v1/" + row.Plural
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(f.get(f.path, runtime.ContentTypeJSON), &list); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(list.ResourceVersion, &f.begun); err != nil {
		t.Fatal(err)
	}
	for n := range count {
		f.store(fmt.Sprintf("o%03d", n), f.random(n))
	}
	return f
}

// random returns an object with random fields, in the version that is stored.
func (f *protobufFixture) random(n int) runtime.Object {
	f.t.Helper()
	empty, kind := f.row.Object, f.row.GroupVersionKind()
	if stored := f.row.Storage; stored != nil {
		empty, kind = stored.Object, stored.GroupVersion.WithKind(stored.Kind)
	}
	obj := reflect.New(reflect.TypeOf(empty).Elem()).Interface().(runtime.Object)
	funcs, source := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(int64(n))
	fuzzer.FuzzerFor(funcs, source, f.set.Codecs.CodecFactory).Fill(obj)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	m, err := meta.Accessor(obj)
	if err != nil {
		f.t.Fatal(err)
	}
	m.SetName(fmt.Sprintf("o%03d", n))
	m.SetNamespace("")
	if f.row.Namespaced {
		m.SetNamespace("ns")
	}
	m.SetResourceVersion("")
	m.SetLabels(map[string]string{"half": fmt.Sprint(n%2 == 0)})
	m.SetAnnotations(map[string]string{"text": strings.Repeat(fmt.Sprintf("text of %d ", n), 700)})
	return obj
}

// key returns the key of an object in etcd.
func (f *protobufFixture) key(name string) string {
	if f.row.Namespaced {
		name = "ns/" + name
	}
	return f.prefix + "/" + f.row.StorageFolder() + "/" + name
}

func (f *protobufFixture) store(name string, obj runtime.Object) {
	f.t.Helper()
	value, err := json.Marshal(obj)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(name, string(value))
}

func (f *protobufFixture) put(name, value string) {
	f.t.Helper()
	if _, err := etcd.Client.Put(f.t.Context(), f.key(name), value); err != nil {
		f.t.Fatal(err)
	}
}

// object returns the path of an object.
func (f *protobufFixture) object(name string) string {
	if !f.row.Namespaced {
		return f.path + "/" + name
	}
	return strings.TrimSuffix(f.path, f.row.Plural) + "namespaces/ns/" + f.row.Plural + "/" + name
}

// do sends a request with the headers in pairs, and returns the response; get returns the body.
func (f *protobufFixture) do(method, path, body string, headers ...string) *http.Response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Level", string(auditinternal.LevelNone))
	if f.audited {
		req.Header.Set("Level", string(auditinternal.LevelRequestResponse))
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (f *protobufFixture) get(path, accept string) []byte {
	f.t.Helper()
	resp := f.do("GET", path, "", "Accept", accept, "Accept-Encoding", "identity")
	if mediaType := resp.Header.Get("Content-Type"); mediaType != strings.Split(accept, ";")[0] {
		f.t.Errorf("%s has the Content-Type %q", path, mediaType)
	}
	return f.read(resp.Body)
}

func (f *protobufFixture) read(r io.Reader) []byte {
	f.t.Helper()
	body, err := io.ReadAll(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return body
}

// decode decodes an answer in JSON or protobuf.
func (f *protobufFixture) decode(answer []byte, into runtime.Object) {
	f.t.Helper()
	if err := runtime.DecodeInto(f.set.Codecs.UniversalDeserializer(), answer, into); err != nil {
		f.t.Fatalf("%v: %.300q", err, answer)
	}
}

// encoded returns what the library makes of an answer in JSON: it decodes it, sets defaults, and encodes it.
func (f *protobufFixture) encoded(answer []byte) []byte {
	f.t.Helper()
	obj, err := runtime.Decode(f.set.Codecs.UniversalDeserializer(), answer)
	if err != nil {
		f.t.Fatalf("%v: %s", err, answer)
	}
	f.set.Scheme.Default(obj)
	if meta.IsListType(obj) {
		err := meta.EachListItem(obj, func(item runtime.Object) error {
			f.set.Scheme.Default(item)
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	encoded, err := runtime.Encode(f.set.Codecs.EncoderForVersion(f.serializer().Serializer, f.row.GroupVersion), obj)
	if err != nil {
		f.t.Fatal(err)
	}
	return encoded
}

func (f *protobufFixture) serializer() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(f.set.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return info
}

// same checks that the answer in protobuf is what the library makes of the one in JSON, which it returns.
func (f *protobufFixture) same(path string) []byte {
	f.t.Helper()
	answer := f.get(path, runtime.ContentTypeJSON)
	if got, want := f.get(path, runtime.ContentTypeProtobuf), f.encoded(answer); !bytes.Equal(got, want) {
		f.t.Errorf("%s: %d bytes %.300q\nwant %d: %.300q", path, len(got), got, len(want), want)
	}
	return answer
}
