package crdhandler

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/admissionregistration"
	"github.com/crd-server/crd-server/internal/builtin/events"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// gizmo is a kind that exists in no API.
type gizmo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Size int `json:"size,omitempty"`
}

func (g *gizmo) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

type gizmoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []gizmo `json:"items"`
}

func (l *gizmoList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]gizmo(nil), l.Items...)
	return &c
}

// TestMadeUpKind checks that one row of the table is enough to serve a kind.
func TestMadeUpKind(t *testing.T) {
	t.Parallel()
	handler := withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), http.NotFoundHandler(), &resource.Definition{
		GroupVersion: schema.GroupVersion{Group: "made.example.com", Version: "v1"},
		Kind:         "Gizmo", Plural: "gizmos", Singular: "gizmo", Namespaced: true, Object: &gizmo{}, List: &gizmoList{},
	}))
	const path, head = "/apis/made.example.com/v1/namespaces/ns/gizmos",
		`{"kind":"Gizmo","apiVersion":"made.example.com/v1","metadata":{`
	for _, step := range []struct {
		method, path, mediaType, body string
		code                          int
		want                          string
	}{
		{"POST", path, "application/json", head + `"name":"a"},"size":1}`, 201, `"size":1`},
		{"POST", path, "application/json", head + `"name":"a"},"size":1}`, 409,
			`gizmos.made.example.com \"a\" already exists`},
		{"POST", path, "application/json", head + `"name":"b"},"size":"x"}`, 400,
			`cannot unmarshal string into Go struct field`},
		{"POST", path + "?fieldValidation=Strict", "application/json", head + `"name":"b"},"sizes":1}`, 400,
			`unknown field \"sizes\"`},
		{"PUT", path + "/a", "application/json", head + `"name":"a","resourceVersion":"1"},"size":2}`, 409, `"Conflict"`},
		{"PUT", path + "/a", "application/json", head + `"name":"a","labels":{"x":"y"}},"size":2}`, 200, `"size":2`},
		{"PATCH", path + "/a", "application/merge-patch+json", `{"size":3}`, 200, `"size":3`},
		{"PATCH", path + "/a", "application/json-patch+json", `[{"op":"replace","path":"/size","value":4}]`, 200, `"size":4`},
		{"PATCH", path + "/a", "application/strategic-merge-patch+json", `{"size":5}`, 200, `"size":5`},
		{"PATCH", path + "/c?fieldManager=m", "application/apply-patch+yaml", head + `"name":"c"},"size":6}`, 201,
			`"operation":"Apply"`},
		{"GET", path + "/a", "", "", 200, `"size":5`},
		{"GET", "/apis/made.example.com/v1/gizmos?labelSelector=x%3Dy", "", "", 200, `"items":[{"metadata":{"name":"a"`},
		{"GET", path + "?fieldSelector=metadata.name%3Da", "", "", 200, `"items":[{"metadata":{"name":"a"`},
		{"GET", path + "?fieldSelector=size%3D1", "", "", 400, `\"size\" is not a known field selector`},
		{"DELETE", path + "/a", "", "", 200, `"status":"Success"`},
		{"GET", path + "/a", "", "", 404, `gizmos.made.example.com \"a\" not found`},
		{"DELETE", path + "?fieldSelector=metadata.name%3Dother", "", "", 200, `"items":[]`},
		{"DELETE", path, "", "", 200, `"name":"c"`},
		{"POST", path + "/a", "application/json", "{}", 405, `"MethodNotAllowed"`},
	} {
		req := httptest.NewRequest(step.method, step.path, strings.NewReader(step.body))
		req.Header.Set("Content-Type", step.mediaType)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != step.code || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", step.method, step.path, w.Code, w.Body, step.code, step.want)
		}
	}
}

// TestDefinitionInBuiltinGroup checks that a CRD in a group of the server serves nothing, as in kube-apiserver.
func TestDefinitionInBuiltinGroup(t *testing.T) {
	t.Parallel()
	next := http.NotFoundHandler()
	handler := withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), next,
		resource.Complete([]*resource.Definition{events.V1()})...))
	for group, code := range map[string]int{"events.k8s.io": 404, "authorization.k8s.io": 404, "apiextensions.k8s.io": 404,
		"other.k8s.io": 200} {
		const approved = `"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, a test"},`
		crd := strings.Replace(definitionOf(group, "bars", "v1", ""), `"metadata":{`, approved, 1)
		req := httptest.NewRequest("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.NewReader(crd))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, req); w.Code != 201 {
			t.Fatalf("%s: %d %s", group, w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/apis/"+group+"/v1/namespaces/ns/bars", nil))
		if w.Code != code {
			t.Errorf("%s: %d %s, want %d", group, w.Code, w.Body, code)
		}
	}
}

// TestKindOfErrors checks that errors of events name the kind of their storage, as kube-apiserver's do.
func TestKindOfErrors(t *testing.T) {
	t.Parallel()
	handler := withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), http.NotFoundHandler(),
		resource.Complete([]*resource.Definition{events.V1()})...))
	body := strings.NewReader(`{"metadata":{"name":"a"}}`)
	req := httptest.NewRequest("POST", "/apis/events.k8s.io/v1/namespaces/default/events", body)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if want := `"message":"Event \"a\" is invalid: [eventTime: Required value`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s, want %s", w.Body, want)
	}
}

// TestStoredInOtherVersion reads and updates objects that are stored in versions that the server does not store, or
// does not even serve.
func TestStoredInOtherVersion(t *testing.T) {
	t.Parallel()
	prefix := etcd.Prefix(t)
	rows := resource.Complete(append(admissionregistration.Definitions(), events.Core(), events.V1()))
	handler := withRequestInfo(newHandler(t, etcd.Client, prefix, http.NotFoundHandler(), rows...))
	const kind, group = "MutatingWebhookConfiguration", "admissionregistration.k8s.io"
	const webhooks = "/mutatingwebhookconfigurations/a"
	const path = "/apis/" + group + "/v1" + webhooks
	for key, value := range map[string]string{
		"events/ns/a": `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"a","namespace":"ns"},"note":"n"}`,
		webhooks[1:]: `{"kind":"` + kind + `","apiVersion":"` + group + `/v1beta1","metadata":{"name":"a","uid":"u"},` +
			`"webhooks":[{"name":"w"}]}`,
	} {
		if _, err := etcd.Client.Put(t.Context(), prefix+"/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/namespaces/ns/events/a", "", `"message":"n"`},
		{"GET", "/apis/events.k8s.io/v1/namespaces/ns/events/a", "", `"note":"n"`},
		{"GET", "/api/v1/events", "", `"message":"n"`},
		{"GET", "/apis/events.k8s.io/v1/events", "", `"note":"n"`},
		{"GET", path, "", `"apiVersion":"` + group + `/v1"`},
		{"PATCH", path, `{"metadata":{"labels":{"a":"b"}},"webhooks":null}`, `"labels":{"a":"b"}`},
	} {
		req := httptest.NewRequest(step.method, step.path, strings.NewReader(step.body))
		req.Header.Set("Content-Type", "application/merge-patch+json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != 200 || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s %s: %d %s, want %s", step.method, step.path, w.Code, w.Body, step.want)
		}
	}
}

// TestCreateOnUpdateWithUID checks that a PUT that means another object creates none.
func TestCreateOnUpdateWithUID(t *testing.T) {
	t.Parallel()
	rows := builtin.Essential()
	lease := rows[slices.IndexFunc(rows, func(d *resource.Definition) bool { return d.Plural == "leases" })]
	handler := withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), http.NotFoundHandler(), lease))
	for uid, code := range map[string]int{`"uid":"u",`: 409, "": 201} {
		req := httptest.NewRequest("PUT", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a", strings.NewReader(
			`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{`+uid+`"name":"a"},"spec":{}}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, req); w.Code != code {
			t.Errorf("%s %d %s", uid, w.Code, w.Body)
		}
	}
}
