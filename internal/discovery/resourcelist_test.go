package discovery

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/crd-server/crd-server/internal/crds"
)

// manyWidgets returns a Discovery of so many CRDs of one group.
func manyWidgets(t testing.TB, count int) (*Discovery, *fakeTable) {
	t.Helper()
	d, table := newFixture(t)
	for n := range count {
		table.show(numbered(t, n))
	}
	return d, table
}

// numbered returns one of many CRDs and its name.
func numbered(t testing.TB, n int, modify ...func(*apiextensionsv1.CustomResourceDefinition)) (string, *crds.Record) {
	t.Helper()
	replacer := strings.NewReplacer("widget", fmt.Sprintf("widget%d", n), "Widget", fmt.Sprintf("Widget%d", n), "wd", fmt.Sprintf("wd%d", n))
	record := recordOf(t, replacer.Replace(widgets), modify...)
	return record.Name, record
}

// TestLongLists holds that a list that is put together of parts is, to the byte, the one that is encoded as a whole, whatever changes.
func TestLongLists(t *testing.T) {
	const group, version, path = "stable.example.com", "v1", "/apis/stable.example.com/v1"
	d, table := manyWidgets(t, 4*longList)
	h := handler(d)
	encoder := crds.Codecs.EncoderForVersion(json.NewSerializerWithOptions(json.DefaultMetaFactory, crds.Scheme, crds.Scheme, json.SerializerOptions{}), nil)
	check := func(what string) {
		t.Helper()
		want, err := runtime.Encode(encoder, d.group(group).resourceList(version))
		if err != nil {
			t.Fatal(err)
		}
		plain := get(t, h, path).expect(t, http.StatusOK)
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Type") != runtime.ContentTypeJSON {
			t.Errorf("%s: headers %v", what, plain.Header)
		}
		if !bytes.Equal(plain.body, want) {
			t.Errorf("%s: got %d bytes, want %d", what, len(plain.body), len(want))
		}
		zipped := get(t, h, path, "Accept-Encoding", "gzip").expect(t, http.StatusOK)
		compressed := zipped.Header.Get("Content-Encoding") == "gzip"
		if compressed != (len(want) >= compressedFrom) || compressed != (zipped.Header.Get("Vary") == "Accept-Encoding") {
			t.Errorf("%s: %d bytes, headers %v", what, len(want), zipped.Header)
		}
		if compressed {
			zipped.body = unzip(t, zipped.body)
		}
		if !bytes.Equal(zipped.body, want) {
			t.Errorf("%s: got %d bytes, want %d, compressed %t", what, len(zipped.body), len(want), compressed)
		}
	}
	check("all")
	table.show(numbered(t, 4*longList))
	check("one more")
	table.show(numbered(t, 7, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Subresources = nil }))
	check("one without subresources")
	table.show(numbered(t, 8, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
		})
	}))
	check("one that is deleted")
	table.show(numbered(t, 9, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }))
	check("one that is not served")
	for n := range 4*longList - longList {
		name, _ := numbered(t, n)
		table.show(name, nil)
	}
	check("few")
}

func unzip(t *testing.T, body []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLongListsInOtherForms holds that nobody gets JSON who asked for something else.
func TestLongListsInOtherForms(t *testing.T) {
	const path = "/apis/stable.example.com/v1"
	d, _ := manyWidgets(t, longList)
	h := handler(d)
	for accept, begin := range map[string]string{
		runtime.ContentTypeYAML:     "apiVersion: v1\n",
		runtime.ContentTypeProtobuf: "k8s\x00",
	} {
		if got := get(t, h, path, "Accept", accept).expect(t, http.StatusOK); !bytes.HasPrefix(got.body, []byte(begin)) {
			t.Errorf("%s: %.100q", accept, got.body)
		}
	}
	if got := get(t, h, path, "User-Agent", "curl/8").expect(t, http.StatusOK); !bytes.HasPrefix(got.body, []byte("{\n  ")) {
		t.Errorf("for people to read: %.100q", got.body)
	}
	get(t, h, path, "Accept", "text/plain").expect(t, http.StatusNotAcceptable)
}
