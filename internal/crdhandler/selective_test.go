package crdhandler

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// paintedCRD returns a CRD with the given selectable fields of spec.
func paintedCRD(fields ...string) string {
	var declared []string
	for _, field := range fields {
		declared = append(declared, fmt.Sprintf(`{"jsonPath":".spec.%s"}`, field))
	}
	return strings.Replace(fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"machines.example.com","uid":"machines"},
"spec":{"group":"example.com","scope":"Namespaced","conversion":{"strategy":"None"},
"names":{"plural":"machines","singular":"machine","kind":"Machine","listKind":"MachineList"},
"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[%s],
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"string"}}}}}}}]},
"status":{"acceptedNames":{"plural":"machines","singular":"machine","kind":"Machine","listKind":"MachineList"},
"storedVersions":["v1"]}}`,
		strings.Join(declared, ",")), "\n", "", -1)
}

// painted returns the n-th object. Its labels and fields depend on n.
func painted(n, shard int) string {
	odd := ""
	if n%2 == 1 {
		odd = `,"odd":"yes"`
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"m%03d","namespace":"ns",`+
		`"uid":"u%d","labels":{"shard":"%d"%s}},"spec":{"color":"%s","size":"%d"}}`,
		n, n, shard, odd, []string{"red", "green", "blue"}[n%3], n%5)
}

// machines is a client that reads lists of machines.
type machines struct {
	*writing
}

// list returns the objects of one list, and its continue token.
func (m machines) list(query url.Values) (items []unstructured.Unstructured, next string) {
	m.Helper()
	list := &unstructured.UnstructuredList{}
	if err := json.Unmarshal([]byte(m.send(http.MethodGet, "?"+query.Encode(), "", "").is(m, http.StatusOK)),
		list); err != nil {
		m.Fatal(err)
	}
	return list.Items, list.GetContinue()
}

func namesOf(items []unstructured.Unstructured) (names []string) {
	for _, item := range items {
		names = append(names, item.GetName()+"@"+item.GetResourceVersion())
	}
	return names
}

// selectedOf returns the objects that the selectors match.
func selectedOf(all []unstructured.Unstructured, labelSelector,
	fieldSelector string) (selected []unstructured.Unstructured) {
	l, f := labels.SelectorFromSet(nil), fields.Everything()
	if labelSelector != "" {
		l, _ = labels.Parse(labelSelector)
	}
	if fieldSelector != "" {
		f = fields.ParseSelectorOrDie(fieldSelector)
	}
	for _, item := range all {
		spec, _, _ := unstructured.NestedStringMap(item.Object, "spec")
		set := fields.Set{"metadata.name": item.GetName(), "metadata.namespace": item.GetNamespace(),
			"spec.color": spec["color"], "spec.size": spec["size"]}
		if l.Matches(labels.Set(item.GetLabels())) && f.Matches(set) {
			selected = append(selected, item)
		}
	}
	return selected
}

// TestSelectiveLists compares lists by selector with the full list filtered by the library's selectors. The objects are
// written through the server and directly to etcd; lists are read at once and in pages, while labels change, and after
// a change of the schema.
func TestSelectiveLists(t *testing.T) {
	t.Parallel()
	config := &Config{Store: newStore(t, dynamicstorage.Options{Header: widgetHeader}), MaxRequestBodyBytes: 3 << 20}
	info := infoOf(t, config, paintedCRD("color"))
	m := machines{&writing{TB: t, served: info.versions["v1"]}}
	m.list(nil)
	const objects = 400
	elsewhere := func(n, shard int) {
		name := fmt.Sprintf("%s/example.com/machines/ns/m%03d", etcd.Prefix(t), n)
		if _, err := etcd.Client.Put(t.Context(), name, painted(n, shard)+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for n := range objects {
		if n%2 == 0 {
			elsewhere(n, n%40)
		} else {
			m.send(http.MethodPost, "", "application/json", painted(n, n%40)).is(t, http.StatusCreated)
		}
	}
	check := func(t *testing.T, fieldSelectors ...string) {
		t.Helper()
		all, _ := m.list(nil)
		for _, labelSelector := range []string{"", "shard=3", "shard=", "shard==3,odd", "shard in (1,2,39),odd",
			"shard in (7)", "!odd,shard=4", "shard notin (1,2)", "odd!=yes",
			"odd", "none", "!none", "shard>37", "shard<2", "shard=3,shard=4"} {
			for _, fieldSelector := range append(fieldSelectors, "", "metadata.name!=m003", "metadata.namespace=ns") {
				want := namesOf(selectedOf(all, labelSelector, fieldSelector))
				query := url.Values{"labelSelector": {labelSelector}, "fieldSelector": {fieldSelector}}
				if got, _ := m.list(query); !slices.Equal(namesOf(got), want) {
					t.Errorf("%q %q:\ngot  %v\nwant %v", labelSelector, fieldSelector, namesOf(got), want)
				}
				limit := max(9, len(want)/3)
				query.Set("limit", fmt.Sprint(limit))
				var got []string
				for page := 0; ; page++ {
					items, next := m.list(query)
					if got = append(got, namesOf(items)...); next == "" {
						break
					}
					if len(items) != limit {
						t.Fatalf("%q %q: a page of %d", labelSelector, fieldSelector, len(items))
					}
					query.Set("continue", next)
					if page == 1 { // later pages must not show this change
						elsewhere(7, 3)
						all, _ = m.list(nil)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q %q, in pages:\ngot  %v\nwant %v", labelSelector, fieldSelector, got, want)
				}
			}
		}
	}
	check(t, "spec.color=red", "spec.color!=red", "spec.color=blue,metadata.name=m005", "spec.color=")

	for n := range objects / 4 { // change labels
		patch := fmt.Sprintf(`{"metadata":{"labels":{"shard":"%d","odd":null}}}`, n%5)
		m.send(http.MethodPatch, fmt.Sprintf("m%03d", n), "application/merge-patch+json", patch).is(t, http.StatusOK)
		elsewhere(n+200, n%6)
	}
	check(t, "spec.color=green")

	m.send(http.MethodGet, "?"+url.Values{"fieldSelector": {"spec.size=2"}}.Encode(), "", "").is(t,
		http.StatusBadRequest)
	next := infoOf(t, config, paintedCRD("color", "size"))
	info.retire()
	m.served = next.versions["v1"]
	check(t, "spec.size=2", "spec.size=2,spec.color=red")
}

// TestSelectiveInitialEvents checks the initial events of watches with selectors that use an index.
func TestSelectiveInitialEvents(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	var want []string
	for n := range 400 {
		color := "blue"
		if n%80 == 0 {
			color = "red"
		}
		name := fmt.Sprintf("g%03d", n)
		if revision := r.put("ns/"+name, color); color == "red" {
			want = append(want, fmt.Sprint("ADDED ", name, " red ", revision))
		}
	}
	r.put("other/g000", "red")
	for _, query := range []string{"labelSelector=color%3Dred", "labelSelector=color+in+(red,white)",
		"fieldSelector=spec.color%3Dred"} {
		for range 2 { // the first watch makes the index of a field
			w := r.watch("/namespaces/ns/gadgets?watch=true&" + query)
			w.expect(want...)
			w.cancel()
		}
	}
}

// TestSelectiveDeleteCollection checks that a deletion by selectors that use an index deletes exactly the selected
// objects.
func TestSelectiveDeleteCollection(t *testing.T) {
	t.Parallel()
	config := &Config{Store: newStore(t, dynamicstorage.Options{Header: widgetHeader}), MaxRequestBodyBytes: 3 << 20}
	m := machines{&writing{TB: t, served: infoOf(t, config, paintedCRD("color")).versions["v1"]}}
	for n := range 300 {
		m.send(http.MethodPost, "", "application/json", painted(n, n%40)).is(t, http.StatusCreated)
	}
	all, _ := m.list(nil)
	query := url.Values{"labelSelector": {"shard in (3,4)"}, "fieldSelector": {"spec.color=red"}}
	gone := namesOf(selectedOf(all, "shard in (3,4)", "spec.color=red"))
	m.send(http.MethodDelete, "?"+query.Encode(), "", "").is(t, http.StatusOK)
	left, _ := m.list(nil)
	for _, name := range namesOf(left) {
		if slices.Contains(gone, name) {
			t.Errorf("%s is still there", name)
		}
	}
	if len(gone) == 0 || len(left) != len(all)-len(gone) {
		t.Errorf("%d of %d objects are left, %d were selected", len(left), len(all), len(gone))
	}
}
