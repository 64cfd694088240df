package discovery

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestLongLists compares a list that is long enough to be compressed with the one that the library encodes.
func TestLongLists(t *testing.T) {
	t.Parallel()
	const group, version, path = "stable.example.com", "v1", "/apis/stable.example.com/v1"
	d, table := newFixture(t)
	for n := range 400 {
		replacer := strings.NewReplacer("widget", fmt.Sprintf("widget%d", n), "Widget", fmt.Sprintf("Widget%d", n), "wd",
			fmt.Sprintf("wd%d", n))
		record := recordOf(t, replacer.Replace(widgets))
		table.show(record.Name, record)
	}
	h := handler(d)
	encoder := crds.Codecs.EncoderForVersion(json.NewSerializerWithOptions(json.DefaultMetaFactory, crds.Scheme,
		crds.Scheme, json.SerializerOptions{}), nil)
	want, err := runtime.Encode(encoder, d.group(group).resourceList(version))
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, h, path).expect(t, http.StatusOK); !bytes.Equal(got.body, want) {
		t.Errorf("got %d bytes, want %d", len(got.body), len(want))
	}
	zipped := get(t, h, path, "Accept-Encoding", "gzip").expect(t, http.StatusOK)
	if zipped.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(unzip(t, zipped.body), want) {
		t.Errorf("headers %v, or other content", zipped.Header)
	}
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

// TestListMediaTypes checks the list of resources in all media types.
func TestListMediaTypes(t *testing.T) {
	t.Parallel()
	const path = "/apis/stable.example.com/v1"
	d, _ := newFixture(t, widgets)
	h := handler(d)
	for accept, begin := range map[string]string{
		runtime.ContentTypeYAML:     "apiVersion: v1\n",
		runtime.ContentTypeProtobuf: "k8s\x00",
	} {
		if got := get(t, h, path, "Accept", accept).expect(t, http.StatusOK); !bytes.HasPrefix(got.body, []byte(begin)) {
			t.Errorf("%s: %.100q", accept, got.body)
		}
	}
	if got := get(t, h, path, "User-Agent", "curl/8").expect(t, http.StatusOK); !bytes.HasPrefix(got.body,
		[]byte("{\n  ")) {
		t.Errorf("for a browser or curl: %.100q", got.body)
	}
	get(t, h, path, "Accept", "text/plain").expect(t, http.StatusNotAcceptable)
}
