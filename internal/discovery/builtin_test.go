package discovery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// builtinRows are built-in resources, in no order.
func builtinRows() []*builtin.Definition {
	return []*builtin.Definition{
		{
			GroupVersion: coordinationv1.SchemeGroupVersion, Kind: "Lease", Plural: "leases", Singular: "lease",
			Namespaced: true, Object: &coordinationv1.Lease{}, List: &coordinationv1.LeaseList{},
		},
		{
			GroupVersion: eventsv1.SchemeGroupVersion, Kind: "Event", Plural: "events", Singular: "event",
			ShortNames: []string{"ev"}, Namespaced: true, Object: &eventsv1.Event{}, List: &eventsv1.EventList{},
			Storage: &builtin.Storage{GroupVersion: corev1.SchemeGroupVersion, Kind: "Event"},
		},
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "Namespace", Plural: "namespaces", Singular: "namespace",
			ShortNames: []string{"ns"}, Object: &corev1.Namespace{}, List: &corev1.NamespaceList{},
			Verbs: []string{"watch", "update", "patch", "list", "get", "delete", "create"},
			Subresources: []builtin.Subresource{
				{Name: "status", Verbs: []string{"update", "patch", "get"}}, {Name: "finalize", Verbs: []string{"update"}},
			},
		},
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap",
			ShortNames: []string{"cm"}, Namespaced: true, Object: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
		},
	}
}

func newBuiltinFixture(t testing.TB) (*Discovery, *fakeTable) {
	t.Helper()
	table := &fakeTable{records: map[string]*crds.Record{}}
	d := New(table, Options{Version: "v1.37.2", Core: true, Reviews: true, Builtin: builtinRows()})
	r := recordOf(t, acmes)
	table.show(r.Name, r)
	return d, table
}

func decode[T any](t testing.TB, a answer) *T {
	t.Helper()
	out := new(T)
	if err := json.Unmarshal(a.body, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The entries in these tests are those of kube-apiserver.

func TestBuiltinResourceList(t *testing.T) {
	t.Parallel()
	d, _ := newBuiltinFixture(t)
	all := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for path, want := range map[string][]metav1.APIResource{
		"/api/v1": {
			{
				Name: "configmaps", SingularName: "configmap", Namespaced: true, Kind: "ConfigMap", Verbs: all,
				ShortNames: []string{"cm"}, StorageVersionHash: "qFsyl6wFWjQ=",
			},
			{
				Name: "namespaces", SingularName: "namespace", Kind: "Namespace", ShortNames: []string{"ns"},
				Verbs:              metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"},
				StorageVersionHash: "Q3oi5N2YM8M=",
			},
			{Name: "namespaces/finalize", Kind: "Namespace", Verbs: metav1.Verbs{"update"}},
			{Name: "namespaces/status", Kind: "Namespace", Verbs: metav1.Verbs{"get", "patch", "update"}},
		},
		"/apis/coordination.k8s.io/v1": {{
			Name: "leases", SingularName: "lease", Namespaced: true, Kind: "Lease", Verbs: all,
			StorageVersionHash: "gqkMMb/YqFM=",
		}},
		// Events of both groups are stored in one version.
		"/apis/events.k8s.io/v1": {{
			Name: "events", SingularName: "event", Namespaced: true, Kind: "Event", Verbs: all, ShortNames: []string{"ev"},
			StorageVersionHash: "r2yiGXH7wu8=",
		}},
	} {
		list := decode[metav1.APIResourceList](t, get(t, handler(d), path).expect(t, 200))
		if diff := cmp.Diff(want, list.APIResources); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
}

func TestBuiltinGroups(t *testing.T) {
	t.Parallel()
	d, _ := newBuiltinFixture(t)
	var names []string
	for _, g := range decode[metav1.APIGroupList](t, get(t, handler(d), "/apis").expect(t, 200)).Groups {
		names = append(names, g.Name)
	}
	want := []string{
		"events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io",
		"acme.io",
	}
	if !slices.Equal(names, want) {
		t.Errorf("groups are %v, want %v", names, want)
	}
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	core := decode[apidiscoveryv2.APIGroupDiscoveryList](t, get(t, handler(d), "/api", "Accept", accept).expect(t, 200))
	namespaces := core.Items[0].Versions[0].Resources[1]
	kind := &metav1.GroupVersionKind{Kind: "Namespace"}
	if diff := cmp.Diff(apidiscoveryv2.APIResourceDiscovery{
		Resource: "namespaces", SingularResource: "namespace", Scope: "Cluster", ResponseKind: kind,
		ShortNames: []string{"ns"}, Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		Subresources: []apidiscoveryv2.APISubresourceDiscovery{
			{Subresource: "finalize", ResponseKind: kind, Verbs: []string{"update"}},
			{Subresource: "status", ResponseKind: kind, Verbs: []string{"get", "patch", "update"}},
		},
	}, namespaces); diff != "" {
		t.Errorf("namespaces: -want +got\n%s", diff)
	}
}

func TestVersionsOfABuiltinGroup(t *testing.T) {
	t.Parallel()
	row := func(group, version, plural string) *builtin.Definition {
		return &builtin.Definition{GroupVersion: schema.GroupVersion{Group: group, Version: version}, Plural: plural}
	}
	options := Options{Builtin: []*builtin.Definition{
		row("unknown.k8s.io", "v1", "b"), row("autoscaling", "v1", "b"),
		row("autoscaling", "v2", "a"), row("autoscaling", "v1", "a"),
	}}
	groups := options.listed(builtinGroups(options))
	if len(groups) != 3 || groups[0].name != "autoscaling" || groups[2].name != "unknown.k8s.io" {
		t.Fatalf("groups are %v", groups)
	}
	if !slices.Equal(groups[0].versions, []string{"v2", "v1"}) {
		t.Errorf("versions are %v", groups[0].versions)
	}
	if v1 := groups[0].resourceList("v1").APIResources; len(v1) != 2 || v1[0].Name != "a" {
		t.Errorf("resources of v1 are %v", v1)
	}
}

// TestCustomVersionsOfBuiltinGroup checks how versions are listed that CRDs add to a built-in group.
func TestCustomVersionsOfBuiltinGroup(t *testing.T) {
	t.Parallel()
	d, table := newBuiltinFixture(t)
	r := recordOf(t, `
spec:
  group: apiextensions.k8s.io
  scope: Cluster
  names: {plural: bars, singular: bar, kind: Bar, listKind: BarList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: vfake, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`)
	table.show(r.Name, r)
	group := decode[metav1.APIGroup](t, get(t, handler(d), "/apis/apiextensions.k8s.io").expect(t, 200))
	if len(group.Versions) != 2 || group.Versions[0].Version != "vfake" || group.Versions[1].Version != "v1" {
		t.Errorf("versions are %v", group.Versions)
	}
	list := decode[metav1.APIGroupList](t, get(t, handler(d), "/apis").expect(t, 200))
	n := slices.IndexFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == group.Name })
	if len(list.Groups[n].Versions) != 2 || list.Groups[n].PreferredVersion.Version != "vfake" {
		t.Errorf("the list has %v", list.Groups[n])
	}
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	answer := get(t, handler(d), "/apis", "Accept", accept).expect(t, 200)
	versions := decode[apidiscoveryv2.APIGroupDiscoveryList](t, answer).Items[n].Versions
	if len(versions) != 2 || len(versions[0].Resources) != 1 || versions[0].Resources[0].Resource != "bars" ||
		len(versions[1].Resources) != 1 || versions[1].Resources[0].Resource != "customresourcedefinitions" {
		t.Errorf("the aggregated list has %v", versions)
	}
	get(t, handler(d), "/apis/apiextensions.k8s.io/v1").expect(t, 200)
	get(t, handler(d), "/apis/apiextensions.k8s.io/vfake").expect(t, 404)
	index := decode[handler3.OpenAPIV3Discovery](t, get(t, handler(d), "/openapi/v3").expect(t, 200))
	get(t, handler(d), index.Paths["apis/apiextensions.k8s.io/vfake"].ServerRelativeURL).expect(t, 200)
}

// TestCustomResourceAtBuiltinPath checks that a path is described once, as what is served there.
func TestCustomResourceAtBuiltinPath(t *testing.T) {
	t.Parallel()
	d, table := newBuiltinFixture(t)
	r := recordOf(t, `
spec:
  group: apiextensions.k8s.io
  scope: Cluster
  names: {plural: customresourcedefinitions, singular: a, kind: Impostor, listKind: ImpostorList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`)
	table.show(r.Name, r)
	described := string(get(t, handler(d), "/openapi/v2").expect(t, 200).body)
	if n := strings.Count(described, `"/apis/apiextensions.k8s.io/v1/customresourcedefinitions":`); n != 1 {
		t.Errorf("the path is described %d times", n)
	}
	if strings.Contains(described, "Impostor") {
		t.Error("a custom resource is described that is not served")
	}
}

// TestBuiltinOpenAPI reads the documents that the index lists.
func TestBuiltinOpenAPI(t *testing.T) {
	t.Parallel()
	d, _ := newBuiltinFixture(t)
	index := decode[handler3.OpenAPIV3Discovery](t, get(t, handler(d), "/openapi/v3").expect(t, 200))
	for path, object := range map[string]string{
		"api": "", "api/v1": "io.k8s.api.core.v1.ConfigMap", "apis/events.k8s.io": "",
		"apis/events.k8s.io/v1":       "io.k8s.api.events.v1.Event",
		"apis/coordination.k8s.io/v1": "io.k8s.api.coordination.v1.Lease",
	} {
		entry, ok := index.Paths[path]
		if !ok {
			t.Errorf("the index does not list %s", path)
			continue
		}
		document := decode[spec3.OpenAPI](t, get(t, handler(d), entry.ServerRelativeURL).expect(t, 200))
		if _, ok := document.Components.Schemas[object]; !ok && object != "" {
			t.Errorf("%s does not describe %s", path, object)
		}
		const accept = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
		if a := get(t, handler(d), entry.ServerRelativeURL, "Accept", accept).expect(t, 200); len(a.body) == 0 {
			t.Errorf("%s is empty in protobuf", path)
		}
	}
	other := New(&fakeTable{}, Options{Version: "v1.37.2", Core: true, Builtin: builtinRows()[1:]})
	without := decode[handler3.OpenAPIV3Discovery](t, get(t, handler(other), "/openapi/v3").expect(t, 200))
	if without.Paths["api/v1"] == index.Paths["api/v1"] {
		t.Error("the hash of a document does not depend on the built-in resources")
	}
	v2 := decode[map[string]json.RawMessage](t, get(t, handler(d), "/openapi/v2").expect(t, 200))
	paths, definitions := map[string]any{}, map[string]any{}
	for name, into := range map[string]*map[string]any{"paths": &paths, "definitions": &definitions} {
		if err := json.Unmarshal((*v2)[name], into); err != nil {
			t.Fatal(err)
		}
	}
	if paths["/api/v1/namespaces/{name}/finalize"] == nil || definitions["io.k8s.api.core.v1.Namespace"] == nil {
		t.Error("version 2 does not describe namespaces")
	}
	if paths["/apis/acme.io/v2/acmes"] == nil || paths["/version/"] == nil {
		t.Error("version 2 describes built-in resources only")
	}
}
