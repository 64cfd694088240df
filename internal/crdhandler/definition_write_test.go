package crdhandler

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// newDefinitionsOn starts a server of the CRDs in an etcd.
func newDefinitionsOn(t *testing.T, e *etcdtest.Etcd) *writes {
	t.Helper()
	return newWritesOn(t, e, func(f *writes) {
		endpoints := newDefinitionEndpoints(f.config)
		f.scope, f.subresources = endpoints.main, endpoints.subresources
	})
}

// gadgetDefinition returns the CRD of gadgets as a client sends it.
func gadgetDefinition(t *testing.T) string {
	t.Helper()
	crd := gadget()
	crd.UID = ""
	crd.Kind, crd.APIVersion = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
	body, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestWriteDefinitions(t *testing.T) {
	t.Parallel()
	f := newDefinitionsOn(t, etcd)
	const path = "/gadgets.example.com"
	definition := gadgetDefinition(t)
	created := f.do(call{method: "POST", body: definition}).is(201).obj
	if created.GetGeneration() != 1 || created.GetAPIVersion() != "apiextensions.k8s.io/v1" {
		t.Errorf("got %v", created)
	}
	f.do(call{method: "POST", body: definition}).fails(409, metav1.StatusReasonAlreadyExists,
		`customresourcedefinitions.apiextensions.k8s.io "gadgets.example.com" already exists`)

	t.Run("no change", func(t *testing.T) {
		for _, contentType := range []string{"application/merge-patch+json", "application/strategic-merge-patch+json"} {
			got := f.do(call{method: "PATCH", path: path, contentType: contentType, body: `{}`}).is(200).obj
			if got.GetResourceVersion() != created.GetResourceVersion() {
				t.Errorf("%s: a patch without a change was written", contentType)
			}
		}
	})
	t.Run("strategic merge patch", func(t *testing.T) {
		got := f.do(call{
			method: "PATCH", path: path, contentType: "application/strategic-merge-patch+json",
			body: `{"spec":{"names":{"shortNames":["gg"]}},"metadata":{"labels":{"a":"b"}},"foo":1}`,
		}).is(200).warns(`unknown field \"foo\"`).obj
		short, _, _ := unstructured.NestedStringSlice(got.Object, "spec", "names", "shortNames")
		if strings.Join(short, ",") != "gg" || got.GetLabels()["a"] != "b" || got.GetGeneration() != 2 {
			t.Errorf("got %v", got)
		}
		f.do(call{method: "PATCH", path: path, contentType: "application/strategic-merge-patch+json",
			body: `[]`}).is(400)
		f.do(call{
			method: "PATCH", path: path + "?fieldValidation=Strict",
			contentType: "application/strategic-merge-patch+json", body: `{"foo":1}`,
		}).fails(422, metav1.StatusReasonInvalid,
			` "" is invalid: patch: Invalid value: "map[foo:1]": strict decoding error: unknown field "foo"`)
	})
	t.Run("invalid", func(t *testing.T) {
		f.do(call{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: `{"spec":{"group":"other.example.com"}}`}).is(422)
	})
	t.Run("apply", func(t *testing.T) {
		f.do(call{method: "PATCH", path: path + "?fieldManager=m", contentType: "application/apply-patch+yaml",
			body: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
				`"metadata":{"name":"gadgets.example.com","labels":{"c":"d"}}}`}).is(200)
	})
	t.Run("status", func(t *testing.T) {
		got := f.do(call{
			method: "PATCH", path: path + "/status", contentType: "application/merge-patch+json",
			body: `{"metadata":{"labels":{"e":"f"}},"spec":{"scope":"Cluster"},"status":{"conditions":[{"type":"Established",` +
				`"status":"True"}]}}`,
		}).is(200).obj
		scope, _, _ := unstructured.NestedString(got.Object, "spec", "scope")
		if scope != "Namespaced" || got.GetLabels()["e"] != "f" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("protobuf", func(t *testing.T) {
		internal, err := crds.FromV1(gadget())
		if err != nil {
			t.Fatal(err)
		}
		crd, err := crds.ToV1(internal)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := runtime.SerializerInfoForMediaType(crds.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
		body, err := runtime.Encode(crds.Codecs.EncoderForVersion(info.Serializer, f.scope.Kind.GroupVersion()), crd)
		if err != nil {
			t.Fatal(err)
		}
		f.do(call{method: "POST", contentType: runtime.ContentTypeProtobuf, body: string(body)}).is(409)
	})
	t.Run("delete", func(t *testing.T) {
		f.do(call{method: "DELETE", path: path + "?dryRun=All"}).is(200)
		leaving := f.do(call{method: "DELETE", path: path}).is(200).obj
		if leaving.GetDeletionTimestamp() == nil || strings.Join(leaving.GetFinalizers(),
			",") != "customresourcecleanup.apiextensions.k8s.io" {
			t.Errorf("got %v", leaving)
		}
		again := f.do(call{method: "DELETE", path: path}).is(200).obj
		if again.GetDeletionTimestamp() == nil {
			t.Errorf("again: got %v", again)
		}
		f.do(call{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: `{"metadata":{"finalizers":null}}`}).is(200)
		f.do(call{method: "GET", path: path}).is(404)
	})
}
