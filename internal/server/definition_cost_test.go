package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
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
		`"spec":{"group":"` + d.group() + `","scope":"Namespaced","names":{"plural":"things","kind":"Thing"` + d.names + `},` +
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

func costlyDefinitions() []costlyDefinition {
	const text = `{"type":"string"}`
	one := versionsOf(1, "")
	return []costlyDefinition{
		{"versions with names", `,"shortNames":[` + repeated(`"s#"`, 100) + `],"categories":[` + repeated(`"c#"`, 100) + `]`,
			versionsOf(30, ""), text, `"a"`},
		{"columns", "", versionsOf(5, `,"additionalPrinterColumns":[`+
			repeated(`{"name":"c#","type":"string","jsonPath":".spec"}`, 100)+`]`), text, `"a"`},
		{"long columns", "", versionsOf(1, `,"additionalPrinterColumns":[`+
			repeated(`{"name":"c#","type":"string","jsonPath":"`+strings.Repeat(".a", 500)+`"}`, 100)+`]`), text, `"a"`},
		{"schemas", "", one, `{"type":"object","properties":{` + repeated(`"p#":{"type":"string"}`, 4000) + `}}`,
			`{` + repeated(`"p#":"a"`, 4000) + `}`},
		{"deep schemas", "", one,
			strings.Repeat(`{"type":"object","default":{},"properties":{"a":`, 20) + text + strings.Repeat(`}}`, 20), `{}`},
		{"branches", "", one, `{"type":"string","anyOf":[` + repeated(`{}`, 5000) + `]}`, `"a"`},
		{"rules", "", one, `{"type":"integer","x-kubernetes-validations":[` + repeated(`{"rule":"self!=#"}`, 500) + `]}`, `-1`},
		{"scattered rules", "", one, `{"type":"object","properties":{` +
			repeated(`"p#":{"type":"string","x-kubernetes-validations":[{"rule":"self!='#'"}]}`, 200) + `}}`,
			`{` + repeated(`"p#":"a"`, 200) + `}`},
		{"long rules", "", one, `{"type":"integer","x-kubernetes-validations":[` +
			repeated(`{"rule":"`+strings.Repeat("self>0||", 1000)+`self!=#"}`, 5) + `]}`, `-1`},
		{"enumerations", "", one,
			`{"x-kubernetes-preserve-unknown-fields":true,"type":"object","enum":[` + repeated(`{}`, 5000) + `]}`, `{}`},
		{"patterns", "", one, `{"type":"object","properties":{` + repeated(`"p#":{"type":"string","pattern":"a{#}"}`, 250) + `}}`,
			`{` + repeated(`"p#":"a"`, 250) + `}`},
	}
}

// TestDefinitionsCostWhatTheyAreWorth checks that a definition takes memory in proportion to its size when everything
// of it is used, and gives it back when it is deleted.
func TestDefinitionsCostWhatTheyAreWorth(t *testing.T) {
	handler, _ := assembled(t)
	warm := costlyDefinition{"warm", "", versionsOf(2, ""), `{"type":"string"}`, `"a"`}
	warm.use(t, handler)
	for _, definition := range costlyDefinitions() {
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
		d.send(t, handler, "GET", "/openapi/v3/apis/"+gv, "", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "")
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
