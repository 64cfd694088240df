package crdhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	begin := r.put("ns/a", "red")
	w := r.watch(fmt.Sprint("/gadgets?watch=true&resourceVersion=", begin))
	if contentType := w.response.Header.Get("Content-Type"); contentType != "application/json" {
		t.Errorf("Content-Type %q", contentType)
	}
	added := r.put("ns/b", "red")
	modified := r.put("ns/a", "blue")
	deleted := r.remove("ns/a")
	w.expect(
		fmt.Sprint("ADDED b red ", added),
		fmt.Sprint("MODIFIED a blue ", modified),
		fmt.Sprint("DELETED a blue ", deleted))

	again := r.watch(fmt.Sprint("/watch/gadgets?resourceVersion=", added))
	again.expect(fmt.Sprint("MODIFIED a blue ", modified), fmt.Sprint("DELETED a blue ", deleted))
}

func TestWatchFrame(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	w := r.watch("/gadgets?watch=true")
	want := fmt.Sprintf(`{"type":"ADDED","object":{"apiVersion":"example.com/v1","kind":"Gadget",`+
		`"metadata":{"labels":{"color":"red"},"name":"a",`+
		`"namespace":"ns","resourceVersion":"%d","uid":"uid"},"spec":{"color":"red"}}}`+"\n", revision)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(w.response.Body, got); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestWatchSelectors(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	begin := r.put("ns/a", "red")
	r.put("ns/b", "blue")
	for _, query := range []string{"labelSelector=color%3Dred", "fieldSelector=spec.color%3Dred"} {
		w := r.watch(fmt.Sprintf("/namespaces/ns/gadgets?watch=true&resourceVersion=%d&%s", begin, query))
		r.put("other/a", "red")
		entered := r.put("ns/b", "red")
		left := r.put("ns/b", "blue")
		r.remove("ns/b")
		stayed := r.put("ns/a", "red")
		deleted := r.remove("ns/a")
		w.expect(
			fmt.Sprint("ADDED b red ", entered),
			fmt.Sprint("DELETED b red ", left),
			fmt.Sprint("MODIFIED a red ", stayed),
			fmt.Sprint("DELETED a red ", deleted))
		w.cancel()
		begin = r.put("ns/a", "red")
		r.put("ns/b", "blue")
	}
}

func TestWatchOfOne(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	begin := r.put("ns/a", "red")
	for _, path := range []string{"/watch/namespaces/ns/gadgets/a?",
		"/namespaces/ns/gadgets?watch=1&fieldSelector=metadata.name%3Da&"} {
		w := r.watch(fmt.Sprint(path, "resourceVersion=", begin))
		r.put("ns/ab", "red")
		begin = r.put("ns/a", "blue")
		w.expect(fmt.Sprint("MODIFIED a blue ", begin))
	}
	if status := r.get("/watch/namespaces/ns/gadgets/a?fieldSelector=metadata.name%3Db").status(t,
		400); status.Message != "fieldSelector metadata.name doesn't match requested name" {
		t.Errorf("conflicting names: %s", status.Message)
	}
}

func TestWatchList(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	a := r.put("ns/a", "red")
	b := r.put("ns/b", "blue")
	for name, tc := range map[string]struct {
		query string
		want  []string
	}{
		"legacy": {"", []string{fmt.Sprint("ADDED a red ", a), fmt.Sprint("ADDED b blue ", b)}},
		"with bookmarks": {"&resourceVersion=0&allowWatchBookmarks=true",
			[]string{fmt.Sprint("ADDED a red ", a), fmt.Sprint("ADDED b blue ", b), "BOOKMARK"}},
		"selected": {"&allowWatchBookmarks=true&labelSelector=color%3Dblue",
			[]string{fmt.Sprint("ADDED b blue ", b), "BOOKMARK"}},
		"not older": {
			fmt.Sprint("&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=", a),
			[]string{fmt.Sprint("ADDED a red ", a), fmt.Sprint("ADDED b blue ", b), "BOOKMARK"},
		},
		"without initial state": {"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := r.watch("/gadgets?watch=true" + tc.query) // compressed if it sends a bookmark
			for _, want := range tc.want {
				if want != "BOOKMARK" {
					w.expect(want)
					continue
				}
				got, _ := w.next()
				if got.Type != want || got.Object.GetKind() != "Gadget" ||
					got.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" ||
					got.Object.GetResourceVersion() == "" {
					t.Fatalf("got %v", got.Object)
				}
			}
			revision := r.put("ns/c", "blue")
			w.expect(fmt.Sprint("ADDED c blue ", revision))
			// the next subtest may begin with the cached state
			w.expect(fmt.Sprint("DELETED c blue ", r.remove("ns/c")))
		})
	}
}

func TestWatchFailuresAreEvents(t *testing.T) {
	t.Parallel()
	r := newReadingOn(t, etcdtest.New(t))
	first := r.put("ns/a", "red")
	last := r.put("ns/a", "blue")
	r.compact(last)
	for name, tc := range map[string]struct {
		query string
		code  int32
		text  string
	}{
		"too old": {fmt.Sprint("resourceVersion=", first-1), 410,
			fmt.Sprintf("too old resource version: %d (", first-1)},
		"future": {fmt.Sprint("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=", last+future),
			504,
			fmt.Sprintf("Timeout: Too large resource version: %d", last+future)},
	} {
		t.Run(name, func(t *testing.T) {
			w := r.watch("/gadgets?watch=true&" + tc.query)
			got, _ := w.next()
			status := got.Object.Object
			if got.Type != "ERROR" || status["kind"] != "Status" || status["code"] != float64(tc.code) ||
				!strings.HasPrefix(fmt.Sprint(status["message"]), tc.text) {
				t.Errorf("got %s %v", got.Type, status)
			}
			w.expectEnd()
		})
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	path := fmt.Sprint("/gadgets?watch=true&resourceVersion=", revision)
	timed := r.watch(path + "&timeoutSeconds=1")
	timed.expectEnd()

	future := r.watch(fmt.Sprint("/gadgets?watch=true&timeoutSeconds=1&resourceVersion=", revision+future))
	future.expectEnd()

	open := r.watch(path)
	r.replace()
	open.expectEnd()
}

func TestWatchFormats(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	r.put("ns/b", "red")
	const path = "/gadgets?watch=true&allowWatchBookmarks=true"

	refused := r.get(path, "Accept", "application/yaml")
	if refused.code != http.StatusNotAcceptable || !strings.Contains(string(refused.body),
		"accepted: application/json;stream=watch") {
		t.Errorf("YAML: %d, %s", refused.code, refused.body)
	}

	table := r.watch(path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	for n, wantRow := range []string{"a", "b", ""} {
		got, _ := table.next()
		_, headers := got.Object.Object["columnDefinitions"].([]any)
		rows := got.Object.Object["rows"].([]any)
		cells := rows[0].(map[string]any)["cells"].([]any)
		if got.Object.GetKind() != "Table" || headers != (n == 0) || cells[0] != wantRow {
			t.Errorf("frame %d: %v", n, got.Object)
		}
	}

	partial := r.watch(path, "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	if got, _ := partial.next(); got.Object.GetKind() != "PartialObjectMetadata" || got.Object.GetName() != "a" ||
		got.Object.Object["spec"] != nil {
		t.Errorf("metadata: %v", got.Object)
	}

	// The first Table of every watch has column definitions.
	for range 2 {
		again := r.watch(path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		included := r.watch(path+"&includeObject=Object", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		for n, want := range []string{"a", "b"} {
			for _, w := range []*watching{again, included} {
				got, _ := w.next()
				_, headers := got.Object.Object["columnDefinitions"].([]any)
				row := got.Object.Object["rows"].([]any)[0].(map[string]any)
				_, spec, _ := unstructured.NestedMap(row, "object", "spec")
				if headers != (n == 0) || row["cells"].([]any)[0] != want || spec != (w == included) {
					t.Errorf("frame %d: %v", n, got.Object)
				}
			}
		}
	}

	binary := r.watch(path, "Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	if contentType := binary.response.Header.Get(
		"Content-Type"); contentType != "application/vnd.kubernetes.protobuf;stream=watch" {
		t.Errorf("Content-Type %q", contentType)
	}
	frames := protobuf.LengthDelimitedFramer.NewFrameReader(binary.response.Body)
	buffer := make([]byte, 4096)
	n, err := frames.Read(buffer)
	var event metav1.WatchEvent
	if err != nil || event.Unmarshal(buffer[:n]) != nil || event.Type != "ADDED" ||
		!bytes.HasPrefix(event.Object.Raw, []byte("k8s\x00")) {
		t.Errorf("protobuf: %v, %q", err, buffer[:n])
	}
}

func TestCBORFormats(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CBORServingAndStorage, true)
	r := newReading(t)
	r.put("ns/a", "red")
	for path, contentType := range map[string]string{
		"/namespaces/ns/gadgets/a":          "application/cbor",
		"/gadgets":                          "application/cbor",
		"/gadgets?watch=1&timeoutSeconds=1": "application/cbor-seq",
	} {
		got := r.get(path, "Accept", "application/cbor")
		if got.code != http.StatusOK || got.header.Get("Content-Type") != contentType ||
			!bytes.HasPrefix(got.body, []byte("\xd9\xd9\xf7")) {
			t.Errorf("%s: %d, %s, %q", path, got.code, got.header.Get("Content-Type"), got.body)
		}
	}
}

func TestWatchListIsCompressed(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	got := r.get("/gadgets?watch=true&timeoutSeconds=3&allowWatchBookmarks=true", "Accept-Encoding", "gzip")
	if body := got.unzipped(t); strings.Count(string(body), "\n") != 2 {
		t.Errorf("got %s", body)
	}
	if plain := r.get("/gadgets?watch=true&timeoutSeconds=1", "Accept-Encoding",
		"gzip"); plain.header.Get("Content-Encoding") != "" {
		t.Errorf("header of a plain watch: %v", plain.header)
	}
}

func TestWatchOverWebSocket(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	ws, err := websocket.Dial(strings.Replace(r.url, "http", "ws", 1)+"/gadgets?watch=true", "", "http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, want := range []string{fmt.Sprint("ADDED a red ", revision),
		fmt.Sprint("ADDED b red ", r.put("ns/b", "red"))} {
		var text string
		if err := websocket.Message.Receive(ws, &text); err != nil {
			t.Fatal(err)
		}
		w := &watching{t: t, decoder: json.NewDecoder(strings.NewReader(text))}
		w.expect(want)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("condition not met in time")
		}
		time.Sleep(time.Millisecond)
	}
}
