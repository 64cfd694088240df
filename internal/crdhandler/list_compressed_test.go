package crdhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
	"github.com/crd-server/crd-server/internal/wire"
)

// longColor returns a color of several kilobytes.
func longColor(n int) string { return strings.Repeat(fmt.Sprintf("color %d of many, ", n), 200) }

// sameAsPlain compares the compressed and the plain response to a request, and returns the plain one.
func (r *reading) sameAsPlain(t *testing.T, path string) answer {
	t.Helper()
	plain := r.get(path, "Accept-Encoding", "identity")
	if plain.code != http.StatusOK {
		t.Fatalf("%s: %d: %s", path, plain.code, plain.body)
	}
	got := r.get(path, "Accept-Encoding", "gzip")
	if len(plain.body) > wire.GzipThreshold {
		got.body = got.unzipped(t)
	}
	if !bytes.Equal(got.body, plain.body) {
		t.Errorf("%s: %d bytes, want %d", path, len(got.body), len(plain.body))
	}
	return plain
}

// samePages calls sameAsPlain for all pages of a list.
func (r *reading) samePages(t *testing.T, path string) {
	t.Helper()
	for next := ""; ; {
		list, _ := r.sameAsPlain(t, path+"&continue="+next).list(t)
		if next = list.GetContinue(); next == "" {
			return
		}
	}
}

func TestCompressedListsEqualPlainOnes(t *testing.T) {
	t.Parallel()
	r := newReadingOn(t, etcdtest.New(t)) // lists have equal revisions only if no other test writes
	for n := range 120 {
		r.put(fmt.Sprintf("%s/g%03d", []string{"a", "b"}[n/60], n), longColor(n%2))
	}
	lists := func(t *testing.T) {
		for range 2 { // the second list is made of kept chunks
			r.sameAsPlain(t, "/gadgets")
			r.sameAsPlain(t, "/gadgets?resourceVersion=0")
			r.sameAsPlain(t, "/gadgets?pretty=true")
			r.sameAsPlain(t, "/namespaces/b/gadgets")
			r.sameAsPlain(t, "/gadgets?fieldSelector=metadata.namespace%3Da")
			r.samePages(t, "/gadgets?limit=60")
			r.sameAsPlain(t, "/gadgets?labelSelector=color")
			r.sameAsPlain(t, "/gadgets?fieldSelector=metadata.name!%3Dg007")
		}
	}
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"at first", func() {}},
		{"after an update", func() { r.put("a/g030", longColor(3)) }},
		{"after an update of the first", func() { r.put("a/g000", longColor(4)) }},
		{"after an insertion", func() { r.put("a/g030x", longColor(5)) }},
		{"after a deletion", func() { r.remove("b/g100") }},
		{"after a change of the schema", func() {
			r.scope.lists = &compressedLists{}
			r.scope.Objects = &stored.Objects{
				Resource: r.scope.Objects.Resource, Of: r.scope.Objects.Of, Codec: plainCodec{},
				Viewer: dynamicstorage.NewViewer(dyed{}.views),
			}
		}},
	} {
		step.change()
		t.Run(step.name, lists)
	}
	if body := r.sameAsPlain(t, "/gadgets").body; !bytes.Contains(body, []byte(`"dye"`)) {
		t.Error("the list has the objects of the old schema")
	}
}

// dyed is a codec that serves objects with one more field than plainCodec.
type dyed struct{ plainCodec }

func (d dyed) views(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views, err := d.plainCodec.views(ctx, entries)
	for _, view := range views {
		view.Bytes = append(bytes.TrimSuffix(view.Bytes, []byte("}\n")), `,"dye":"none"}`...)
	}
	return views, err
}

// TestCompressedListsDuringWrites compares compressed lists, made while objects change, with exact reads of the same
// revision.
func TestCompressedListsDuringWrites(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	for n := range 100 {
		r.put(fmt.Sprintf("ns/g%03d", n), longColor(n))
	}
	for round := range 30 {
		var writer sync.WaitGroup
		writer.Go(func() {
			for n := round * 10; n < (round+1)*10; n++ {
				key := fmt.Sprintf("ns/g%03d", n*37%110)
				if n%5 == 4 {
					r.remove(key)
				} else {
					r.put(key, longColor(n%9))
				}
			}
		})
		got := r.get("/gadgets", "Accept-Encoding", "gzip").unzipped(t)
		writer.Wait()
		list := &unstructured.UnstructuredList{}
		if err := json.Unmarshal(got, list); err != nil {
			t.Fatal(err)
		}
		same := r.get("/gadgets?resourceVersionMatch=Exact&resourceVersion="+list.GetResourceVersion(),
			"Accept-Encoding", "identity")
		if !bytes.Equal(same.body, got) {
			t.Errorf("%d bytes, want %d", len(got), len(same.body))
		}
	}
}

func TestCompressedListOfDefinitions(t *testing.T) {
	t.Parallel()
	f := newDefinitionsOn(t, etcdtest.New(t)) // as above
	for n := range 4 {
		definition := strings.NewReplacer("gadget", fmt.Sprint("gadget", n), "Gadget",
			fmt.Sprint("Gadget", n)).Replace(gadgetDefinition(t))
		crd := map[string]any{}
		if err := json.Unmarshal([]byte(definition), &crd); err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("described at length, ", 3000)
		if err := unstructured.SetNestedField(crd, text, "metadata", "annotations", "text"); err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		f.do(call{method: "POST", body: string(body)}).is(201)
	}
	list := func(encoding string) answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{code: response.StatusCode, header: response.Header, body: body}
	}
	for range 2 {
		if plain, got := list("identity"), list("gzip").unzipped(t); !bytes.Equal(got, plain.body) ||
			len(got) < 200_000 {
			t.Errorf("%d bytes, want %d", len(got), len(plain.body))
		}
	}
}
