package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/internal/crdhandler/definitions"
)

// A definition may take costPerByte times its size when all of it has been used, and 64 MiB in any case (C10). The
// definitions of the test reach half of each limit at most, and one limit at a time, so that they may take costOfUse.
const (
	costPerByte = 64
	costOfUse   = 8 << 20
)

// costlyDefinition is a CRD that takes much memory for its size.
type costlyDefinition struct {
	name string
	// names is JSON that is added to the names.
	names string
	// versions are the JSON of versions without braces, schema and subresources.
	versions []string
	// field is the schema of the field, value the JSON of the field in an object.
	field, value string
}

func (d *costlyDefinition) group() string {
	return strings.ReplaceAll(d.name, " ", "-") + ".example.com"
}

func (d *costlyDefinition) json() string {
	versions := make([]string, len(d.versions))
	for n, version := range d.versions {
		versions[n] = `{` + version +
			`,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.a","statusReplicasPath":".status.a"}},` +
			`"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{` +
			`"a":{"type":"integer"},"field":` + d.field + `}}}}}}`
	}
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
		`"metadata":{"name":"things.` + d.group() + `"},` +
		`"spec":{"group":"` + d.group() + `","scope":"Namespaced","names":{"plural":"things","kind":"Thing"` + d.names +
		`},` +
		`"versions":[` + strings.Join(versions, ",") + `]}}`
}

// versionsOf returns n versions, of which the first is stored. more is JSON that is added to each.
func versionsOf(n int, more string) []string {
	versions := make([]string, n)
	for i := range versions {
		versions[i] = fmt.Sprintf(`"name":"v%d","served":true,"storage":%t%s`, i+1, i == 0, more)
	}
	return versions
}

func repeated(format string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(items, ",")
}

// within returns a schema with some properties, within others that begin and end so.
func within(begin, end string, depth int, properties string) string {
	return strings.Repeat(begin, depth) + `{"type":"object","properties":{` + properties + `}}` +
		strings.Repeat(end, depth)
}

func objectOf(property string, n int) string { return within("", "", 0, repeated(property, n)) }

func rulesOf(rule string, n int) string {
	return `"x-kubernetes-validations":[` + repeated(rule, n) + `]`
}

const (
	text  = `{"type":"string"}`
	texts = `"p#":` + text
	// nesting and below are how many schemas are nested, and how many are below these if they reach MaxBelow / 2.
	nesting = definitions.MaxNesting / 2
	below   = definitions.MaxBelow/2/nesting - nesting
)

// costlyVersions returns CRDs whose versions reach half of a limit.
func costlyVersions() []costlyDefinition {
	names := func(text string) string { return `[` + repeated(text, definitions.MaxNames/2) + `]` }
	columns := func(path string) string {
		return `,"additionalPrinterColumns":[` +
			repeated(`{"name":"c#","type":"string","jsonPath":"`+path+`"}`, definitions.MaxColumns/2) + `]`
	}
	return []costlyDefinition{
		{"versions with names", `,"shortNames":` + names(`"s#"`) + `,"categories":` + names(`"c#"`),
			versionsOf(definitions.MaxVersions/2, ""), text, `"a"`},
		{"columns", "", versionsOf(5, columns(".spec")), text, `"a"`},
		{"long columns", "", versionsOf(1, columns(strings.Repeat(".a", definitions.MaxPathLength/2))), text, `"a"`},
	}
}

// costlySchemas returns CRDs whose schemas reach half of a limit, but a tenth of MaxSchemas: a body may have fewer
// objects (W1) than a CRD may have schemas.
func costlySchemas() []costlyDefinition {
	one, value := versionsOf(1, ""), `{`+repeated(`"p#":"a"`, 200)+`}`
	return []costlyDefinition{
		{"schemas", "", one, objectOf(texts, definitions.MaxSchemas/10), value},
		{"deep schemas", "", one,
			within(`{"type":"array","items":`, `}`, definitions.MaxDepth/2, repeated(texts, 10)), `[]`},
		{"branches", "", one, `{"type":"string","anyOf":[` + repeated(`{}`, definitions.MaxBranches/2) + `]}`, `"a"`},
		{"defaults", "", one, objectOf(`"p#":{"type":"string","default":"a"}`, definitions.MaxDefaults/2), `{}`},
		{"nested defaults", "", one,
			within(`{"type":"object","default":{},"properties":{"a":`, `}}`, nesting, repeated(texts, below)), `{}`},
		{"enumerations", "", one, `{"x-kubernetes-preserve-unknown-fields":true,"type":"object","enum":[` +
			repeated(`{}`, definitions.MaxEnum/2) + `]}`, `{}`},
		// The patterns a{0}, a{1} and so on have half of MaxInstructions together.
		{"patterns", "", one, objectOf(`"p#":{"type":"string","pattern":"a{#}"}`, 350), value},
	}
}

// costlyRules returns CRDs whose rules reach half of a limit.
func costlyRules() []costlyDefinition {
	one, value := versionsOf(1, ""), `{`+repeated(`"p#":"a"`, 200)+`}`
	return []costlyDefinition{
		{"rules", "", one, `{"type":"integer",` + rulesOf(`{"rule":"self!=#"}`, definitions.MaxRules/2) + `}`, `-1`},
		{"scattered rules", "", one,
			objectOf(`"p#":{"type":"string",`+rulesOf(`{"rule":"self!=''"}`, 1)+`}`, definitions.MaxRules/2), value},
		{"long rules", "", one,
			`{"type":"integer",` + rulesOf(`{"rule":"`+strings.Repeat("self>0||", 1000)+`self!=#"}`, 16) + `}`, `-1`},
		{"nested rules", "", one, within(`{"type":"object",`+rulesOf(`{"rule":"true"}`, 1)+`,"properties":{"a":`, `}}`,
			nesting, repeated(texts, below)), `{}`},
		{"rules with paths", "", one, `{"type":"object",` + rulesOf(`{"rule":"true","fieldPath":".p#"}`, 50) +
			`,"properties":{` + repeated(texts, definitions.MaxFieldPathWork/2/50) + `}}`, value},
	}
}

// TestDefinitionsCostWhatTheyAreWorth checks that a definition takes memory in proportion to its size when everything
// of it is used, and gives it back when it is deleted.
func TestDefinitionsCostWhatTheyAreWorth(t *testing.T) {
	handler, _ := assembled(t)
	warm := costlyDefinition{"warm", "", versionsOf(2, ""), `{"type":"string"}`, `"a"`}
	warm.use(t, handler)
	for _, definition := range slices.Concat(costlyVersions(), costlySchemas(), costlyRules()) {
		t.Run(definition.name, func(t *testing.T) {
			before := live()
			size := len(definition.json())
			definition.use(t, handler)
			used := live() - before
			definition.remove(t, handler)
			left := live() - before
			t.Logf("%d bytes: %d KiB when used (%d per byte), %d KiB when deleted", size, used>>10, used/int64(size), left>>10)
			if most := int64(size)*costPerByte + costOfUse; used > most {
				t.Errorf("%d bytes, want at most %d", used, most)
			}
		})
	}
}

// use creates the CRD and sends every kind of request to every version.
func (d *costlyDefinition) use(t *testing.T, handler http.Handler) {
	t.Helper()
	body := d.json()
	if code := d.send(t, handler, "POST", definitionsPath, "application/json", "", body); code != http.StatusCreated {
		t.Fatal(code)
	}
	d.send(t, handler, "GET", "/openapi/v2", "", "application/json", "")
	d.send(t, handler, "GET", "/openapi/v2", "", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "")
	d.send(t, handler, "GET", "/apis", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "")
	for n := range d.versions {
		gv := fmt.Sprintf("%s/v%d", d.group(), n+1)
		path := "/apis/" + gv + "/namespaces/default/things"
		obj := fmt.Sprintf(`{"apiVersion":"%s","kind":"Thing","metadata":{"name":"thing%d"},"spec":{"a":1,"field":%s}}`,
			gv, n, d.value)
		d.send(t, handler, "POST", path, "application/json", "", obj)
		named := fmt.Sprintf("%s/thing%d", path, n)
		d.send(t, handler, "GET", path, "", "application/json;as=Table;v=v1;g=meta.k8s.io", "")
		d.send(t, handler, "PATCH", named+"?fieldManager=b&force=true", "application/apply-patch+yaml", "", obj)
		d.send(t, handler, "PATCH", named+"/status", "application/merge-patch+json", "", `{"status":{"a":1}}`)
		d.send(t, handler, "PATCH", named+"/scale", "application/merge-patch+json", "", `{"spec":{"replicas":1}}`)
		d.send(t, handler, "POST", path, "application/json", "", strings.Replace(obj, `"field":`, `"field":{"b":[]},"g":`, 1))
		d.send(t, handler, "GET", "/openapi/v3/apis/"+gv, "", "application/json", "")
		d.send(t, handler, "GET", "/openapi/v3/apis/"+gv, "", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
			"")
	}
}

// remove deletes the CRD and waits until it is gone.
func (d *costlyDefinition) remove(t *testing.T, handler http.Handler) {
	t.Helper()
	path := definitionsPath + "/things." + d.group()
	d.send(t, handler, "DELETE", path, "", "", "")
	for d.send(t, handler, "GET", path, "", "", "") != http.StatusNotFound {
		runtime.Gosched()
	}
}

func (d *costlyDefinition) send(
	t *testing.T, handler http.Handler, method, path, contentType, accept, body string,
) int {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(asOwnRequest(t.Context()))
	req.Header.Set("Content-Type", contentType)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code == http.StatusInternalServerError {
		t.Errorf("%s %s: %.300s", method, path, w.Body)
	}
	return w.Code
}

// live returns the number of bytes of all objects that are in use.
func live() int64 {
	debug.FreeOSMemory()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestDefinitionLimits checks that a CRD with 1,000 versions is refused with the limit, as the CRD endpoint refuses all
// CRDs whose memory is not in proportion to their size.
func TestDefinitionLimits(t *testing.T) {
	handler, _ := assembled(t)
	d := costlyDefinition{"limits", "", versionsOf(1000, ""), `{"type":"string"}`, `"a"`}
	req := httptest.NewRequest("POST", definitionsPath, strings.NewReader(d.json())).WithContext(asOwnRequest(t.Context()))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	const want = `spec.versions: Too many: 1000: must have at most 100 items`
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) ||
		!strings.Contains(w.Body.String(), `"field":"spec.versions"`) {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}
