package transcripts

import (
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// corpora are inputs that the server's fuzz targets keep.
const corpora = "../../internal/server/testdata/fuzz/*/*"

// hostileBodies are mixed with the corpora.
var hostileBodies = []string{
	"", "{}", "[]", "null", "1", `"x"`, "{", "\x00", "\xd9\xd9\xf7\xa0", "k8s\x00\x0a\x00", "a: b", "- a", "a: &a [*a]",
	"---\na: 1\n---\nb: 2", "{}{}", `{"a":1,"a":2}`,
	`{"apiVersion":"lockstep.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"color":"red"}}`,
	`{"apiVersion":"lockstep.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"color":"red",` +
		`"color":"blue","replicas":1.0e2,"ratio":1e400}}`,
	`{"apiVersion":"lockstep.example.com/v1","kind":"Thing","metadata":[],"spec":7}`, `{"metadata":{"name":{}}}`,
	`{"kind":7,"apiVersion":null}`,
	`{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"x"}}`,
	`{"apiVersion":"autoscaling/v1","kind":"Scale","spec":{"replicas":3}}`,
	`[{"op":"add","path":"/spec/list/-","value":{"key":"c"}},{"op":"copy","from":"/spec","path":"/spec/free"},` +
		`{"op":"test","path":"/kind","value":"Thing"}]`,
	`[{"op":"add"}]`, `[{"op":"x","path":"/a"}]`, `[{"op":"remove","path":"/spec/set/7"}]`,
	`[{"op":"add","path":"spec","value":1}]`, `[null]`, `[[]]`,
	`{"spec":{"color":null,"free":{"a":{"b":[[[]]]}}},"metadata":{"managedFields":[{"manager":"m","operation":"Update",` +
		`"apiVersion":"a/b/c","fieldsType":"x","fieldsV1":{"f:spec":7}}]}}`,
}

var hostileTypes = []string{
	"application/json", "application/yaml", "application/cbor", "application/vnd.kubernetes.protobuf",
	"application/merge-patch+json", "application/json-patch+json",
	"application/apply-patch+yaml", "application/apply-patch+cbor", "application/strategic-merge-patch+json", "",
	"text/plain", "application/json;charset=utf-8", ";", "application/json; a",
}

// hostility sends malformed bodies, media types, paths and queries.
func hostility(t testing.TB, kinds []*kind) script {
	bodies := append(slices.Clone(hostileBodies), readCorpora(t)...)
	return script{name: "hostile", step: func(random *rand.Rand, known *side) request {
		p := pick(random, kinds).in(random, known.space)
		method := pick(random, []string{"POST", "PUT", "PATCH", "PATCH", "DELETE", "GET", "OPTIONS", "HEAD"})
		path := p.collection()
		if method != "POST" || chance(random, 10) {
			path += pick(random, []string{"/a", "/a", "/a", "/A_b", "/a%2Fb", "", "/a/b", "/%20"}) +
				pick(random, []string{"", "", "", "/status", "/scale", "/other", "/"})
		}
		asked := request{method: method, path: path, header: map[string]string{"Content-Type": pick(random,
			hostileTypes)}}
		if method != "GET" && method != "HEAD" {
			asked.body = mutated(random, pick(random, bodies))
		}
		query := url.Values{}
		if strings.Contains(asked.header["Content-Type"], "apply") {
			query.Set("fieldManager", "m")
		}
		for _, parameter := range some(random, 8, []string{"fieldManager", "force", "fieldValidation", "dryRun",
			"pretty", "timeout", "limit", "continue", "resourceVersion", "propagationPolicy"}) {
			query.Set(parameter, pick(random, []string{"true", "Strict", "All", "1", "x", "\x00", "ü", "5s", "-1"}))
		}
		// Cluster-scoped objects of other sequences must not be deleted by this one.
		if method == "DELETE" && !strings.HasPrefix(strings.TrimPrefix(path, p.collection()), "/a") {
			query.Set("labelSelector", "space="+known.space)
		}
		if len(query) > 0 {
			asked.path += "?" + query.Encode()
		}
		return asked
	}}
}

// mutated returns a body, sometimes with a few bytes changed.
func mutated(random *rand.Rand, body string) []byte {
	data := []byte(body)
	for range random.IntN(3) {
		if len(data) == 0 {
			break
		}
		at := random.IntN(len(data))
		switch random.IntN(3) {
		case 0:
			data[at] = pick(random, []byte("\"{}[]:,0e-\\\x00\xff \n"))
		case 1:
			data = slices.Delete(data, at, min(len(data), at+1+random.IntN(4)))
		default:
			data = slices.Insert(data, at, pick(random, []byte("\"{}[]:,0e-\\\x00\xff \n")))
		}
	}
	return data
}

// readCorpora reads the strings and bytes of all corpora.
func readCorpora(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(corpora)
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpora: %v", err)
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			_, literal, _ := strings.Cut(strings.TrimSpace(line), "(")
			if text, err := strconv.Unquote(strings.TrimSuffix(literal, ")")); err == nil && len(text) > 2 {
				found = append(found, text)
			}
		}
	}
	return found
}
