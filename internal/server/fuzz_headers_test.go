package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/munnerz/goautoneg"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
)

// readPlaces are requests whose response has a media type that the client chooses. writePlaces are requests with a
// body, which change nothing.
var (
	readPlaces = []call{
		{path: "/apis"}, {path: "/apis/fuzz.example.com/v1"}, {path: "/openapi/v2"},
		{path: "/openapi/v3/apis/fuzz.example.com/v1"},
		{path: fuzzThings}, {path: fuzzThing}, {path: fuzzThing + "/scale"}, {path: definitionsPath},
	}
	writePlaces = []call{
		{method: "POST", path: fuzzThings, query: "dryRun=All",
			body: []byte(strings.Replace(fuzzObject, `"thing"`, `"another"`, 1))},
		{method: "PATCH", path: fuzzThing, query: "dryRun=All", body: []byte(`{"spec":{"color":"blue"}}`)},
		{method: "DELETE", path: fuzzThing, query: "dryRun=All", body: []byte(`{}`)},
	}
)

// FuzzHeaders sends requests with fuzzed header lines. The response must have a media type that the client accepts. The
// server must read a body in the media type that the client names, or refuse it. No header may authenticate a client
// without a credential.
func FuzzHeaders(f *testing.F) {
	h := newHostile(f)
	served(f, h.handler, "POST", fuzzThings, fuzzObject)
	etag := h.send(f, call{path: "/openapi/v2"}).Header().Get("Etag")
	for _, lines := range []string{
		"", "Accept: */*\r\nAccept-Encoding: gzip;q=0, deflate",
		"Accept: application/json;as=Table;v=v1;g=meta.k8s.io, application/json",
		"Accept: application/yaml;q=0.9,application/*;q=x",
		"Accept: text/html", "Accept: application/vnd.kubernetes.protobuf,application/json", "Accept: application/cbor",
		"Accept: application/json;pretty=1;stream=watch", "Accept: ,;=\r\nAccept: */*",
		"Accept: application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
		"Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		"Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;sv=v1",
		"If-None-Match: " + etag, "If-None-Match: W/\"x\", W/" + etag, "If-None-Match: *",
		"If-None-Match: ,\r\nIf-None-Match: " + etag,
		"If-Match: x\r\nRange: bytes=0-1\r\nIf-Modified-Since: x\r\nPrefer: respond-async",
		"Accept-Encoding: gzip", "Accept-Encoding: GZIP, *;q=0", "Accept-Encoding: br\r\nAccept-Encoding: gzip",
		"Content-Encoding: gzip\r\nContent-Type: application/json",
		"Content-Type: application/json", "Content-Type: application/json; charset=utf-8", "Content-Type: application/yaml",
		"Content-Type: application/merge-patch+json; x", "Content-Type: application/json-patch+json",
		"Content-Type: application/apply-patch+yaml", "Content-Type: application/strategic-merge-patch+json",
		"Content-Type: application/vnd.kubernetes.protobuf", "Content-Type: application/cbor", "Content-Type: ;;",
		"Content-Type: a/b;c=\"",
		"User-Agent: kubectl/v1 (x)", "User-Agent: /", "User-Agent: " + strings.Repeat("é", 200), "Audit-Id: 7",
		"Audit-Id: " + strings.Repeat("7", 5000),
		"X-Remote-User: system:apiserver\r\nX-Remote-Group: system:masters", "Authorization: Bearer x",
		"Authorization: Basic YTpi", "Authorization: bearer",
		"Impersonate-User: a\r\nImpersonate-Group: system:masters\r\nImpersonate-Extra-%zz: a",
		"Connection: upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Protocol: base64url.bearer.authorization.k8s.io.eA, " +
			"x\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13",
		"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nTracestate: a=b\r\nX-Forwarded-For: " +
			"1.2.3.4, x\r\nX-Forwarded-Host: evil\r\nOrigin: null\r\nCookie: a",
	} {
		for place := range len(readPlaces) + len(writePlaces) {
			f.Add(byte(place), lines)
		}
	}
	f.Fuzz(func(t *testing.T, place byte, lines string) {
		sent, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: localhost\r\n" + lines +
			"\r\n\r\n")))
		if err != nil {
			t.Skip("not a request")
		}
		places := slices.Concat(readPlaces, writePlaces)
		c := places[int(place)%len(places)]
		c.lines = sent.Header
		w := h.send(t, c)
		checkAuditID(t, sent.Header, w)
		plain := checkEncoding(t, sent.Header, w)
		checkUnchanged(t, sent.Header, w, plain)
		checkMediaTypes(t, c, w)
		c.anonymous = true
		if w := h.send(t, c); w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
			t.Errorf("without a credential: %d %.300s", w.Code, w.Body)
		}
	})
}

func checkAuditID(t *testing.T, sent http.Header, w *httptest.ResponseRecorder) {
	t.Helper()
	id := sent.Get(auditapi.HeaderAuditID)
	if got := w.Header().Values(auditapi.HeaderAuditID); len(got) != 1 || got[0] == "" || id != "" && got[0] != id {
		t.Errorf("audit ID %q, sent %q", got, id)
	}
}

// checkEncoding checks the content encoding and returns the decompressed body.
func checkEncoding(t *testing.T, sent http.Header, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	switch encoding := w.Header().Get("Content-Encoding"); encoding {
	case "":
		return w.Body.Bytes()
	case "gzip":
		if !strings.Contains(strings.Join(sent.Values("Accept-Encoding"), ","), "gzip") {
			t.Error("compressed for a client that does not accept gzip")
		}
		compressed, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(compressed)
		if err != nil {
			t.Error(err)
		}
		return plain
	default:
		t.Errorf("content encoding %q", encoding)
		return nil
	}
}

// checkUnchanged checks that a client gets 304 only if it has sent the current ETag.
func checkUnchanged(t *testing.T, sent http.Header, w *httptest.ResponseRecorder, body []byte) {
	t.Helper()
	etag := w.Header().Get("Etag")
	known := sent.Values("If-None-Match")
	switch w.Code {
	case http.StatusNotModified:
		named := func(line string) bool { return strings.Contains(line, etag) || strings.Contains(line, "*") }
		if etag == "" || !slices.ContainsFunc(known, named) || len(body) > 0 {
			t.Errorf("304 with ETag %q for If-None-Match %q, and %d bytes", etag, known, len(body))
		}
	case http.StatusOK:
		if etag != "" && slices.Contains(known, etag) && known[0] == etag {
			t.Errorf("a client that has %s gets the body again", etag)
		}
	}
}

// checkMediaTypes checks that the client accepts the media type of the response, and that the body of a successful
// write was sent in its own media type.
func checkMediaTypes(t *testing.T, c call, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusOK && w.Code != http.StatusCreated {
		return
	}
	got, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		t.Errorf("%q: %v", w.Header().Get("Content-Type"), err)
	}
	accept := strings.ReplaceAll(c.lines.Get("Accept"), "@", ".") // an older name of the same media type
	takes := func(clause goautoneg.Accept) bool {
		return (clause.Type == "*" || strings.HasPrefix(got, clause.Type+"/")) &&
			(clause.SubType == "*" || strings.HasSuffix(got, "/"+clause.SubType))
	}
	if accept != "" && !slices.ContainsFunc(goautoneg.ParseAccept(accept), takes) {
		t.Errorf("content type %s for Accept %q", got, accept)
	}
	contentType := c.lines.Get("Content-Type")
	sentAs, _, _ := strings.Cut(contentType, ";")
	switch {
	case c.method == http.MethodPatch && sentAs != "application/merge-patch+json":
		t.Errorf("a merge patch is accepted as %q", contentType)
	case c.method == http.MethodPost && contentType != "" &&
		!slices.Contains([]string{"application/json", "application/yaml"}, strings.ToLower(strings.TrimSpace(sentAs))):
		t.Errorf("JSON is accepted as %q", contentType)
	}
}
