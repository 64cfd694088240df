package discovery

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crds"
)

func TestLegacyAnswers(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets, gadgets, acmes)
	h := handler(d)
	for path, want := range map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0",` +
			`"serverAddress":"example.com"}]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
			`{"name":"apiextensions.k8s.io","versions":[{"groupVersion":"apiextensions.k8s.io/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"apiextensions.k8s.io/v1","version":"v1"}},` +
			`{"name":"acme.io","versions":[{"groupVersion":"acme.io/v2","version":"v2"}],` +
			`"preferredVersion":{"groupVersion":"acme.io/v2","version":"v2"}},` +
			`{"name":"stable.example.com","versions":[{"groupVersion":"stable.example.com/v1","version":"v1"},` +
			`{"groupVersion":"stable.example.com/v1beta1","version":"v1beta1"}],` +
			`"preferredVersion":{"groupVersion":"stable.example.com/v1","version":"v1"}}]}`,
		"/apis/acme.io": `{"kind":"APIGroup","apiVersion":"v1","name":"acme.io","versions":[{"groupVersion":"acme.io/v2",` +
			`"version":"v2"}],"preferredVersion":{"groupVersion":"acme.io/v2","version":"v2"}}`,
		"/apis/stable.example.com/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"stable.example.com/v1",` +
			`"resources":[` +
			`{"name":"gadgets","singularName":"gadget","namespaced":false,"kind":"Gadget","verbs":["delete",` +
			`"deletecollection","get","list","patch","create","update","watch"],"storageVersionHash":"cl/irpy5E88="},` +
			`{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","deletecollection",` +
			`"get","list","patch","create","update","watch"],"shortNames":["wd"],"categories":["all"],` +
			`"storageVersionHash":"2vCiI1Gcs2s="},` +
			`{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]},` +
			`{"name":"widgets/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale",` +
			`"verbs":["get","patch","update"]}]}`,
		"/apis/apiextensions.k8s.io/v1": `{"kind":"APIResourceList","apiVersion":"v1",` +
			`"groupVersion":"apiextensions.k8s.io/v1","resources":[` +
			`{"name":"customresourcedefinitions","singularName":"customresourcedefinition","namespaced":false,` +
			`"kind":"CustomResourceDefinition","verbs":["create","delete","deletecollection","get","list","patch","update",` +
			`"watch"],"shortNames":["crd","crds"],"categories":["api-extensions"],"storageVersionHash":"jfWCUB31mvA="},` +
			`{"name":"customresourcedefinitions/status","singularName":"","namespaced":false,` +
			`"kind":"CustomResourceDefinition","verbs":["get","patch","update"]}]}`,
	} {
		got := get(t, h, path).expect(t, http.StatusOK)
		if diff := cmp.Diff(want, strings.TrimSpace(string(got.body))); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
		if contentType := got.Header.Get("Content-Type"); contentType != runtime.ContentTypeJSON {
			t.Errorf("%s: content type %s", path, contentType)
		}
	}
	for _, path := range []string{"/apis/unknown.io", "/apis/unknown.io/v1", "/apis/stable.example.com/v1alpha1",
		"/apis/acme.io/v1"} {
		get(t, h, path).expect(t, http.StatusNotFound)
	}
}

func TestLegacyEncodings(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	h := handler(d)
	for _, accept := range []string{runtime.ContentTypeYAML, runtime.ContentTypeProtobuf,
		runtime.ContentTypeProtobuf + ", " + runtime.ContentTypeJSON} {
		got := get(t, h, "/apis/stable.example.com/v1", "Accept", accept).expect(t, http.StatusOK)
		decoded, err := runtime.Decode(crds.Codecs.UniversalDeserializer(), got.body)
		if err != nil {
			t.Fatalf("%s: %v", accept, err)
		}
		if list := decoded.(*metav1.APIResourceList); len(list.APIResources) != 3 || list.APIResources[0].Name != "widgets" {
			t.Errorf("%s: %+v", accept, list)
		}
	}
	get(t, h, "/apis", "Accept", "text/plain").expect(t, http.StatusNotAcceptable)
}

func TestOnlyServedVersionsAreListed(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t)
	h := handler(d)
	path := "/apis/stable.example.com/v1"
	get(t, h, path).expect(t, http.StatusNotFound)

	installing := recordOf(t, widgets,
		func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.Conditions = crd.Status.Conditions[:1] })
	table.show(installing.Name, installing)
	get(t, h, path).expect(t, http.StatusNotFound)

	established := recordOf(t, widgets)
	table.show(established.Name, established)
	get(t, h, path).expect(t, http.StatusOK)

	terminating := recordOf(t, widgets, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
		})
	})
	table.show(terminating.Name, terminating)
	if got := string(get(t, h, path).expect(t, http.StatusOK).body); !strings.Contains(got,
		`["delete","deletecollection","get","list","watch"]`) {
		t.Errorf("terminating: %s", got)
	}

	withdrawn := recordOf(t, widgets,
		func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false })
	table.show(withdrawn.Name, withdrawn)
	get(t, h, path).expect(t, http.StatusNotFound)
	if got := string(get(t, h, "/apis/stable.example.com/v1beta1").expect(t, http.StatusOK).body); strings.Contains(got,
		"storageVersionHash") {
		t.Errorf("the hash of a storage version that is not served: %s", got)
	}
	get(t, h, "/openapi/v3"+path).expect(t, http.StatusNotFound)

	table.show(withdrawn.Name, nil)
	get(t, h, "/apis/stable.example.com").expect(t, http.StatusNotFound)
	if got := string(get(t, h, "/apis").body); strings.Contains(got, "stable") {
		t.Errorf("deleted, yet listed: %s", got)
	}
}

func TestUnavailableUntilSynced(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, widgets)
	table.waiting = true
	h := handler(d)
	for _, path := range []string{"/apis", "/apis/stable.example.com", "/apis/stable.example.com/v1",
		"/apis/unknown.io/v1",
		"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/stable.example.com/v1"} {
		got := get(t, h, path).expect(t, http.StatusServiceUnavailable)
		if got.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After %q", path, got.Header.Get("Retry-After"))
		}
	}
	for _, path := range []string{"/api", "/apis/apiextensions.k8s.io", "/apis/apiextensions.k8s.io/v1",
		"/openapi/v3/apis/apiextensions.k8s.io/v1"} {
		get(t, h, path).expect(t, http.StatusOK)
	}
	table.waiting = false
	get(t, h, "/apis").expect(t, http.StatusOK)
}

// TestMethodsOfDiscovery checks that the discovery of built-in groups can only be read. That of custom resources does
// not check the method, like upstream's.
func TestMethodsOfDiscovery(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	h := handler(d)
	const refused = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed",` +
		`"details":{},"code":405}`
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{"/api", "/api/v1", "/apis/apiextensions.k8s.io", "/apis/apiextensions.k8s.io/v1"} {
			got := send(t, h, method, path).expect(t, http.StatusMethodNotAllowed)
			if diff := cmp.Diff(refused, strings.TrimSpace(string(got.body))); diff != "" {
				t.Errorf("%s %s: -want +got\n%s", method, path, diff)
			}
		}
		send(t, h, method, "/apis/stable.example.com").expect(t, http.StatusOK)
		send(t, h, method, "/apis/stable.example.com/v1").expect(t, http.StatusOK)
		send(t, h, method, "/apis/apiextensions.k8s.io/v1beta1").expect(t, http.StatusNotFound)
	}
}

// TestWithoutCore checks that core/v1 is not listed where a host cluster serves it.
func TestWithoutCore(t *testing.T) {
	t.Parallel()
	h := handler(New(&fakeTable{}, Options{}))
	if got := string(get(t, h, "/api").expect(t, http.StatusOK).body); !strings.Contains(got, `"versions":[]`) {
		t.Errorf("/api: %s", got)
	}
	aggregated := string(get(t, h, "/api", "Accept", asJSON).expect(t, http.StatusOK).body)
	if !strings.Contains(aggregated, `"items":[]`) {
		t.Errorf("/api, aggregated: %s", aggregated)
	}
	get(t, h, "/api/v1").expect(t, http.StatusNotFound)
}

func TestDelegate(t *testing.T) {
	t.Parallel()
	table := &fakeTable{records: map[string]*crds.Record{}}
	d := New(table, Options{Delegate: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
	h := handler(d)
	get(t, h, "/apis/unknown.io").expect(t, http.StatusTeapot)
	get(t, h, "/apis/apiextensions.k8s.io/v1beta1").expect(t, http.StatusTeapot)
	get(t, d.Group(), "/apis/a/b/c").expect(t, http.StatusTeapot)
}
