package discovery

import (
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// fakeTable is a table that only the test changes.
type fakeTable struct {
	mu      sync.Mutex // guards everything
	records map[string]*crds.Record
	waiting bool // not synced
	changed []func(old, record *crds.Record)
}

func (f *fakeTable) Groups() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, r := range f.records {
		names = append(names, r.Group)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *fakeTable) Group(name string) iter.Seq[*crds.Record] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*crds.Record
	for _, key := range slices.Sorted(maps.Keys(f.records)) {
		if f.records[key].Group == name {
			out = append(out, f.records[key])
		}
	}
	return slices.Values(out)
}

func (f *fakeTable) HasSynced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.waiting
}

func (f *fakeTable) OnChange(changed func(old, record *crds.Record)) {
	f.changed = append(f.changed, changed)
}

// show adds a CRD to the table, or removes it if record is nil.
func (f *fakeTable) show(name string, record *crds.Record) {
	f.mu.Lock()
	old := f.records[name]
	if record == nil {
		delete(f.records, name)
	} else {
		f.records[name] = record
	}
	f.mu.Unlock()
	if old == nil && record == nil {
		return
	}
	for _, changed := range f.changed {
		changed(old, record)
	}
}

func newFixture(t testing.TB, texts ...string) (*Discovery, *fakeTable) {
	t.Helper()
	table := &fakeTable{records: map[string]*crds.Record{}}
	d := New(table, Options{Version: "v1.37.2", Core: true})
	for _, text := range texts {
		r := recordOf(t, text)
		table.show(r.Name, r)
	}
	return d, table
}

// recordOf returns an established CRD after modify.
func recordOf(t testing.TB, text string, modify ...func(*apiextensionsv1.CustomResourceDefinition)) *crds.Record {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	crds.Scheme.Default(crd)
	crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
	crd.UID = "uid"
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	for _, m := range modify {
		m(crd)
	}
	internal, err := crds.FromV1(crd)
	if err != nil {
		t.Fatal(err)
	}
	value, err := crds.EncodeDefinition(internal)
	if err != nil {
		t.Fatal(err)
	}
	record, err := crds.NewRecord(&dynamicstorage.Entry{Key: crd.Name, Revision: 7, Value: value})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
}

// get reads a path. headers are names and values in turn.
func get(t testing.TB, h http.Handler, path string, headers ...string) answer {
	t.Helper()
	return send(t, h, http.MethodGet, path, headers...)
}

// send sends a request to the handler. headers are names and values in turn.
func send(t testing.TB, h http.Handler, method, path string, headers ...string) answer {
	t.Helper()
	req := httptest.NewRequest(method, path, nil)
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	response := w.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Response: response, body: body}
}

func (a answer) expect(t testing.TB, code int) answer {
	t.Helper()
	if a.StatusCode != code {
		t.Fatalf("status %d, want %d: %s", a.StatusCode, code, a.body)
	}
	return a
}

// handler returns a handler with the routes of the server.
func handler(d *Discovery) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api", d.API())
	mux.Handle("/api/v1", d.CoreVersion())
	mux.Handle("/apis", d.APIs())
	mux.Handle("/apis/{group}", d.Group())
	mux.Handle("/apis/{group}/{version}", d.Version())
	mux.Handle("/openapi/v2", d.OpenAPIV2())
	mux.Handle("/openapi/v3", d.OpenAPIV3())
	mux.Handle("/openapi/v3/", d.OpenAPIV3())
	return mux
}

const (
	widgets = `
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd], categories: [all]}
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, description: The first., x-kubernetes-preserve-unknown-fields: true}}
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        description: Widget is what widgets are.
        properties:
          spec: {type: object, properties: {replicas: {type: integer}, port: {x-kubernetes-int-or-string: true}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`
	gadgets = `
spec:
  group: stable.example.com
  scope: Cluster
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`
	acmes = `
spec:
  group: acme.io
  scope: Cluster
  names: {plural: acmes, singular: acme, kind: Acme, listKind: AcmeList}
  versions:
  - {name: v2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
`
)
