package discovery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/handler3"
	openapiproto "k8s.io/kube-openapi/pkg/util/proto"

	"github.com/crd-server/crd-server/internal/crds"
)

const (
	protobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	protobufV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// index reads /openapi/v3.
func index(t testing.TB, h http.Handler) map[string]handler3.OpenAPIV3DiscoveryGroupVersion {
	t.Helper()
	got := handler3.OpenAPIV3Discovery{}
	if err := json.Unmarshal(get(t, h, "/openapi/v3").expect(t, http.StatusOK).body, &got); err != nil {
		t.Fatal(err)
	}
	return got.Paths
}

// checkReferences looks for dangling references.
func checkReferences(t *testing.T, body []byte) {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatalf("%v\n%.500s", err, body)
	}
	var check func(value any)
	check = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				check(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !resolves(document, ref) {
				t.Errorf("%s is dangling", ref)
			}
			for _, item := range v {
				check(item)
			}
		}
	}
	check(document)
}

func resolves(document map[string]any, ref string) bool {
	at := document
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		next, ok := at[step].(map[string]any)
		if !ok {
			return false
		}
		at = next
	}
	return true
}

func TestV3Documents(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets, gadgets, acmes)
	h := handler(d)
	documents := index(t, h)
	for _, path := range []string{"version", "apis", "apis/apiextensions.k8s.io", "apis/apiextensions.k8s.io/v1",
		"apis/acme.io/v2", "apis/stable.example.com/v1", "apis/stable.example.com/v1beta1"} {
		entry, ok := documents[path]
		if !ok {
			t.Errorf("%s is not in the index", path)
			continue
		}
		delete(documents, path)
		got := get(t, h, entry.ServerRelativeURL).expect(t, http.StatusOK)
		if got.Header.Get("Cache-Control") != "public, immutable" || got.Header.Get("Expires") == "" ||
			got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", path, got.Header)
		}
		checkReferences(t, got.body)
		encoded := get(t, h, "/openapi/v3/"+path, "Accept", protobufV3).expect(t, http.StatusOK)
		if cached := encoded.Header.Get("Cache-Control"); cached != "" {
			t.Errorf("%s without hash: Cache-Control %q", path, cached)
		}
		want, err := openapi_v3.ParseDocument(got.body)
		if err != nil {
			t.Fatal(err)
		}
		have := &openapi_v3.Document{}
		if err := proto.Unmarshal(encoded.body, have); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(want, have) {
			t.Errorf("%s: protobuf and JSON differ", path)
		}
		models, err := openapiproto.NewOpenAPIV3Data(want)
		if err != nil || models == nil {
			t.Errorf("%s: kubectl cannot read it: %v", path, err)
		}
	}
	if len(documents) > 0 {
		t.Errorf("more in the index: %v", documents)
	}
}

func TestV3Hash(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, widgets, acmes)
	h := handler(d)
	before := index(t, h)
	if kept := d.documents.sections.kept.Len(); kept > 0 {
		t.Errorf("the index built %d sections", kept)
	}
	url := before["apis/stable.example.com/v1"].ServerRelativeURL
	etag := get(t, h, url).expect(t, http.StatusOK).Header.Get("Etag")
	if !strings.HasSuffix(url, "?hash="+strings.Trim(etag, `"`)) {
		t.Errorf("url %s, etag %s", url, etag)
	}
	get(t, h, url, "If-None-Match", `"other", W/`+etag).expect(t, http.StatusNotModified)

	changed := recordOf(t, widgets, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Description = "Changed."
	})
	table.show(changed.Name, changed)
	if kept := d.documents.sections.kept.Len(); kept > 0 {
		t.Errorf("%d sections of the old CRD are kept", kept)
	}
	after := index(t, h)
	if after["apis/acme.io/v2"] != before["apis/acme.io/v2"] {
		t.Error("a change of one group changes another's hash")
	}
	moved := get(t, h, url).expect(t, http.StatusMovedPermanently)
	if location := moved.Header.Get("Location"); location != after["apis/stable.example.com/v1"].ServerRelativeURL ||
		location == url {
		t.Errorf("redirect from %s to %s", url, location)
	}
	if got := string(get(t, h, moved.Header.Get("Location")).expect(t, http.StatusOK).body); !strings.Contains(got,
		"Changed.") {
		t.Error("the document is not the new one")
	}
	for _, path := range []string{"/openapi/v3/apis/unknown.io/v1", "/openapi/v3/apis/acme.io/v1", "/openapi/v3/nothing",
		"/openapi/v3/apis/stable.example.com/v1alpha1"} {
		get(t, h, path).expect(t, http.StatusNotFound)
	}
}

func TestIndexETag(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	got := get(t, handler(d), "/openapi/v3").expect(t, http.StatusOK)
	get(t, handler(d), "/openapi/v3", "If-None-Match", got.Header.Get("Etag")).expect(t, http.StatusNotModified)
}

func TestV2Document(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, widgets, gadgets, acmes)
	h := handler(d)
	got := get(t, h, "/openapi/v2").expect(t, http.StatusOK)
	checkReferences(t, got.body)
	for _, text := range []string{"com.example.stable.v1.Widget", "io.acme.v2.Acme", "CustomResourceDefinitionSpec",
		`"/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}/scale"`, `"/version/"`} {
		if !bytes.Contains(got.body, []byte(text)) {
			t.Errorf("the document does not contain %s", text)
		}
	}
	if bytes.Contains(got.body, []byte("v1alpha1.Widget")) {
		t.Error("a version is described that is not served")
	}
	want, err := openapi_v2.ParseDocument(got.body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openapiproto.NewOpenAPIData(want); err != nil {
		t.Errorf("kubectl cannot read it: %v", err)
	}
	for _, accept := range []string{protobufV2, strings.Replace(protobufV2, "v2.v1", "v2@v1", 1)} {
		encoded := get(t, h, "/openapi/v2", "Accept", accept).expect(t, http.StatusOK)
		if contentType := encoded.Header.Get("Content-Type"); contentType != protobufV2 {
			t.Errorf("%s: content type %s", accept, contentType)
		}
		have := &openapi_v2.Document{}
		if err := proto.Unmarshal(encoded.body, have); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(want, have) {
			t.Error("protobuf and JSON differ")
		}
	}
	get(t, h, "/openapi/v2", "Accept", "text/html").expect(t, http.StatusNotAcceptable)

	etag := got.Header.Get("Etag")
	get(t, h, "/openapi/v2", "If-None-Match", etag).expect(t, http.StatusNotModified)
	table.show("acmes.acme.io", nil)
	if got := get(t, h, "/openapi/v2", "If-None-Match", etag).expect(t, http.StatusOK); bytes.Contains(got.body,
		[]byte("acme")) {
		t.Error("a deleted CRD is still described")
	}
}

func TestDocumentsAreCompressed(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets, gadgets, acmes)
	h := handler(d)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/stable.example.com/v1"} {
		for _, accept := range []string{"application/json", protobufV2, protobufV3} {
			plain := get(t, h, path, "Accept", accept)
			if plain.StatusCode != http.StatusOK {
				continue // the other version's protobuf
			}
			zipped := get(t, h, path, "Accept", accept, "Accept-Encoding", "gzip").expect(t, http.StatusOK)
			if zipped.Header.Get("Content-Encoding") != "gzip" || len(zipped.body)*3 > len(plain.body) {
				t.Errorf("%s %s: %q, %d of %d bytes", path, accept, zipped.Header.Get("Content-Encoding"), len(zipped.body),
					len(plain.body))
			}
			r, err := gzip.NewReader(bytes.NewReader(zipped.body))
			if err != nil {
				t.Fatal(err)
			}
			unzipped, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(unzipped, plain.body) {
				t.Errorf("%s %s: %v, or other content", path, accept, err)
			}
		}
	}
}

// TestMoreSectionsThanCached checks a document with more sections than the cache holds.
func TestMoreSectionsThanCached(t *testing.T) {
	t.Parallel()
	table := &fakeTable{records: map[string]*crds.Record{}}
	d := New(table, Options{MaxSections: 1})
	for n := range 100 {
		record := recordOf(t, acmes, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Group = fmt.Sprintf("g%d.io", n)
			crd.Name = "acmes." + crd.Spec.Group
		})
		table.show(record.Name, record)
	}
	got := get(t, handler(d), "/openapi/v2").expect(t, http.StatusOK)
	checkReferences(t, got.body)
	if n := bytes.Count(got.body, []byte(`.v2.AcmeList":{`)); n != 100 {
		t.Errorf("%d of 100 CRDs are described", n)
	}
}

// TestSectionsAreCached checks that a second request for a document builds no section, and that a change of a CRD
// builds only its section.
func TestSectionsAreCached(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, widgets, acmes)
	h := handler(d)
	kept := func(name string) any {
		get(t, h, "/openapi/v2").expect(t, http.StatusOK)
		section, ok := d.documents.sections.kept.Get(sectionKey{name: name})
		if !ok {
			t.Fatalf("no section of %s is kept", name)
		}
		return section
	}
	widget, acme := kept("widgets.stable.example.com"), kept("acmes.acme.io")
	changed := recordOf(t, acmes, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "Changed."
	})
	table.show(changed.Name, changed)
	if kept("widgets.stable.example.com") != widget || kept("acmes.acme.io") == acme {
		t.Error("another section than that of the changed CRD was built again")
	}
}

// TestPanicIsAnError checks that a panic of the libraries for a CRD becomes an error.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	if described, err := new(sections).describe(nil, sectionKey{}); err == nil || described != nil {
		t.Errorf("got %v, %v", described, err)
	}
}

// TestReservedDefinition checks that a CRD cannot replace a definition that all sections refer to.
func TestReservedDefinition(t *testing.T) {
	t.Parallel()
	record := recordOf(t, acmes, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Group, crd.Spec.Versions[0].Name, crd.Spec.Names.Kind = "meta.apis.pkg.apimachinery.k8s.io", "v1",
			"ObjectMeta"
		crd.Name = "acmes." + crd.Spec.Group
	})
	d, table := newFixture(t, widgets)
	table.show(record.Name, record)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/" + record.Group + "/v1"} {
		got := get(t, handler(d), path).expect(t, http.StatusOK)
		if n := bytes.Count(got.body, []byte(`"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":`)); n != 1 {
			t.Errorf("%s: %d definitions of ObjectMeta", path, n)
		}
	}
}
