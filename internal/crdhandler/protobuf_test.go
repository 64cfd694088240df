package crdhandler

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TestProtobuf compares all reads of all built-in kinds in protobuf with those in JSON, encoded by the library.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	for _, row := range builtin.Essential() {
		t.Run(row.GroupVersion.String()+" "+row.Plural, func(t *testing.T) {
			t.Parallel()
			f := newProtobuf(t, row, 30)
			f.same(f.object("o000"))
			f.same(f.object("o001"))
			now := fmt.Sprintf("?resourceVersionMatch=Exact&resourceVersion=%s", f.newest())
			f.same(f.path + now)
			f.same(f.path + now + "&labelSelector=half%3Dtrue")
			f.same(f.path + now + "&labelSelector=half%21%3Dtrue")
			f.same(f.path + now + "&labelSelector=none")
			f.same(f.path + now + "&fieldSelector=metadata.name%3Do007")
			var page metav1.PartialObjectMetadataList
			for next := now; ; next = "?continue=" + page.Continue {
				answer := f.same(f.path + next + "&limit=7")
				page = metav1.PartialObjectMetadataList{}
				if err := json.Unmarshal(answer, &page); err != nil || page.Continue == "" {
					break
				}
			}
			if len(page.Items) != 30%7 {
				t.Errorf("the last page has %d objects", len(page.Items))
			}
			f.sameCompressed(f.path + now)
			f.sameMetadata(now)
			f.sameEvents()
			f.audited = true
			f.same(f.object("o000"))
			f.same(f.path + now)
			f.sameFrames("?watch=1&resourceVersion=0", 30)
		})
	}
}

// newest returns the resourceVersion of the newest state.
func (f *protobufFixture) newest() string {
	f.t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(f.get(f.path, runtime.ContentTypeJSON), &list); err != nil || len(list.Items) == 0 {
		f.t.Fatalf("%d objects, %v", len(list.Items), err)
	}
	return list.ResourceVersion
}

// sameCompressed checks compressed lists: the first compresses its chunks, the second has them.
func (f *protobufFixture) sameCompressed(path string) {
	f.t.Helper()
	for range 2 {
		want := f.get(path, runtime.ContentTypeProtobuf)
		resp := f.do("GET", path, "", "Accept", runtime.ContentTypeProtobuf, "Accept-Encoding", "gzip")
		body, err := gzip.NewReader(resp.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		if got := f.read(body); !bytes.Equal(got, want) {
			f.t.Errorf("%d bytes compressed, want %d", len(got), len(want))
		}
	}
}

// sameMetadata checks metadata and Tables in protobuf.
func (f *protobufFixture) sameMetadata(query string) {
	f.t.Helper()
	const as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	var want, got metav1.PartialObjectMetadataList
	if err := json.Unmarshal(f.get(f.path+query, runtime.ContentTypeJSON+as), &want); err != nil {
		f.t.Fatal(err)
	}
	f.decode(f.get(f.path+query, runtime.ContentTypeProtobuf+as), &got)
	for n := range want.Items {
		want.Items[n].TypeMeta = metav1.TypeMeta{} // protobuf does not have it
	}
	want.TypeMeta, got.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	if len(got.Items) != 30 || !reflect.DeepEqual(got, want) {
		f.t.Errorf("metadata: %d objects, want %d", len(got.Items), len(want.Items))
	}
	resp := f.do("GET", f.path, "", "Accept", runtime.ContentTypeProtobuf+";as=Table;g=meta.k8s.io;v=v1")
	if resp.StatusCode != http.StatusNotAcceptable {
		f.t.Errorf("a Table in protobuf: %d", resp.StatusCode)
	}
}

// sameEvents checks the frames of watches: of one object that enters the selection, one that is deleted, and one that
// is new.
func (f *protobufFixture) sameEvents() {
	f.t.Helper()
	f.store("o001", f.random(100))
	if _, err := etcd.Client.Delete(f.t.Context(), f.key("o002")); err != nil {
		f.t.Fatal(err)
	}
	f.store("o100", f.random(101))
	from := fmt.Sprintf("?watch=1&resourceVersion=%d", f.begun)
	f.sameFrames(from, 33)
	f.sameFrames(from+"&labelSelector=half%3Dtrue", 17)
	f.sameFrames("?watch=1&resourceVersion=0", 30)
	f.sameFrames("?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"+
		"&resourceVersion=0", 31)
}

// sameFrames checks the first frames of a watch.
func (f *protobufFixture) sameFrames(query string, count int) {
	f.t.Helper()
	events := json.NewDecoder(f.do("GET", f.path+query, "").Body)
	resp := f.do("GET", f.path+query, "", "Accept", runtime.ContentTypeProtobuf)
	if mediaType := resp.Header.Get("Content-Type"); mediaType != runtime.ContentTypeProtobuf+";stream=watch" {
		f.t.Errorf("the watch has the Content-Type %q", mediaType)
	}
	frames := protobuf.LengthDelimitedFramer.NewFrameReader(resp.Body)
	buffer := make([]byte, 1<<20)
	deleted := 0
	for n := range count {
		var event metav1.WatchEvent
		if err := events.Decode(&event); err != nil {
			f.t.Fatalf("%s, frame %d: %v", query, n, err)
		}
		size, err := frames.Read(buffer)
		if err != nil {
			f.t.Fatalf("%s, frame %d: %v", query, n, err)
		}
		if event.Type == "DELETED" {
			deleted++
		}
		if event.Type == "BOOKMARK" {
			var got metav1.WatchEvent
			if err := got.Unmarshal(buffer[:size]); err != nil || got.Type != "BOOKMARK" ||
				!bytes.Contains(got.Object.Raw, []byte(metav1.InitialEventsAnnotationKey)) {
				f.t.Errorf("bookmark %q, %v", buffer[:size], err)
			}
			continue
		}
		event.Object.Raw = f.encoded(event.Object.Raw)
		var want bytes.Buffer
		encoder := f.set.Codecs.EncoderForVersion(f.serializer().StreamSerializer.Serializer, f.row.GroupVersion)
		if err := encoder.Encode(&event, &want); err != nil {
			f.t.Fatal(err)
		}
		if !bytes.Equal(buffer[:size], want.Bytes()) {
			f.t.Errorf("%s, frame %d: %.300q\nwant %.300q", query, n, buffer[:size], want.Bytes())
		}
	}
	if past := strings.Contains(query, fmt.Sprint(f.begun)); past != (deleted > 0) {
		f.t.Errorf("%s: %d objects were deleted", query, deleted)
	}
}

// TestProtobufWrites checks that the answers to writes are those of reads.
func TestProtobufWrites(t *testing.T) {
	t.Parallel()
	f := newProtobuf(t, builtin.Essential()[0], 0)
	collection := strings.TrimSuffix(f.object(""), "/")
	send := func(method, path, body string, code int) []byte {
		t.Helper()
		resp := f.do(method, path, body, "Accept", runtime.ContentTypeProtobuf, "Content-Type", runtime.ContentTypeJSON)
		answer := f.read(resp.Body)
		if resp.StatusCode != code {
			t.Fatalf("%s: %d %q", method, resp.StatusCode, answer)
		}
		return answer
	}
	const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":`
	check := func(answer []byte) {
		t.Helper()
		if want := f.encoded(f.same(f.object("a"))); !bytes.Equal(answer, want) {
			t.Errorf("answer %q, want %q", answer, want)
		}
	}
	check(send("POST", collection, head+`"1"}}`, 201))
	check(send("PUT", f.object("a"), head+`"2"}}`, 200))
	check(send("PUT", f.object("a"), head+`"2"}}`, 200)) // changes nothing
	long := strings.Repeat("x", 200<<10)
	check(send("PUT", f.object("a"), head+`"`+long+`"}}`, 200))
	dry := &corev1.ConfigMap{}
	f.decode(send("PUT", f.object("a")+"?dryRun=All", head+`"3"}}`, 200), dry)
	if dry.Data["k"] != "3" {
		t.Errorf("dry run: %v", dry)
	}
	want, got := &corev1.ConfigMapList{}, &corev1.ConfigMapList{}
	f.decode(f.get(collection, runtime.ContentTypeProtobuf), want)
	f.decode(send("DELETE", collection, "", 200), got)
	if len(want.Items) != 1 || !reflect.DeepEqual(got.Items, want.Items) {
		t.Errorf("deleted %v, want %v", got, want)
	}
}

// TestUnreadableInProtobuf checks that a stored object that cannot be read is answered as in JSON.
func TestUnreadableInProtobuf(t *testing.T) {
	t.Parallel()
	f := newProtobuf(t, builtin.Essential()[0], 0)
	f.put("corrupt", "{")
	for _, path := range []string{f.object("corrupt"), f.path} {
		var inJSON, inProtobuf metav1.Status
		f.decode(f.get(path, runtime.ContentTypeJSON), &inJSON)
		f.decode(f.get(path, runtime.ContentTypeProtobuf), &inProtobuf)
		inJSON.TypeMeta, inProtobuf.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		if inJSON.Code != http.StatusInternalServerError || !reflect.DeepEqual(inJSON, inProtobuf) {
			t.Errorf("%s: %+v, in JSON %+v", path, inProtobuf, inJSON)
		}
	}
}

// TestWithoutProtobuf checks that a kind whose Go type has no protobuf refuses it.
func TestWithoutProtobuf(t *testing.T) {
	t.Parallel()
	f := newProtobuf(t, &resource.Definition{
		GroupVersion: schema.GroupVersion{Group: "made.example.com", Version: "v1"},
		Kind:         "Gizmo", Plural: "gizmos", Singular: "gizmo", Object: &gizmo{}, List: &gizmoList{},
	}, 1)
	resp := f.do("GET", f.object("o000"), "", "Accept", runtime.ContentTypeProtobuf)
	if resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("%d", resp.StatusCode)
	}
}
