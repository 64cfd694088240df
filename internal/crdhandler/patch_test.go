package crdhandler

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	first := f.created("a", `"labels":{"x":"y"}`)
	const jsonPatch, mergePatch = "application/json-patch+json", "application/merge-patch+json"

	t.Run("json patch", func(t *testing.T) {
		obj := f.do(call{method: "PATCH", path: "/a", contentType: jsonPatch + "; charset=utf-8", agent: "patcher/1",
			body: `[{"op":"replace","path":"/spec/size","value":5}]`}).is(200).obj
		if obj.GetGeneration() != 2 || fmt.Sprint(obj.Object["spec"]) != "map[size:5]" {
			t.Errorf("got %v", obj)
		}
		owners := map[string]string{}
		for _, entry := range obj.GetManagedFields() {
			owners[entry.Manager] = entry.FieldsV1.GetRawString()
		}
		if len(owners) != 2 || owners["patcher"] != `{"f:spec":{"f:size":{}}}` {
			t.Errorf("managed fields: got %v", owners)
		}
	})
	t.Run("merge patch", func(t *testing.T) {
		obj := f.do(call{method: "PATCH", path: "/a", contentType: mergePatch,
			body: `{"metadata":{"labels":null}}`}).is(200).obj
		if obj.GetGeneration() != 2 || len(obj.GetLabels()) != 0 {
			t.Errorf("got %v", obj)
		}
	})
	t.Run("no change", func(t *testing.T) {
		before := f.get("a").is(200).obj
		obj := f.do(call{method: "PATCH", path: "/a", contentType: mergePatch, body: `{}`}).is(200).obj
		if fmt.Sprint(obj) != fmt.Sprint(before) {
			t.Errorf("got %v, want %v", obj, before)
		}
	})
	t.Run("dry run", func(t *testing.T) {
		before := f.get("a").is(200).obj
		obj := f.do(call{method: "PATCH", path: "/a?dryRun=All", contentType: mergePatch,
			body: `{"spec":{"size":8}}`}).is(200).obj
		if obj.GetGeneration() != 3 {
			t.Errorf("got %v", obj)
		}
		if after := f.get("a").is(200).obj; fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("stored %v", after)
		}
	})
	t.Run("warnings", func(t *testing.T) {
		f.do(call{method: "PATCH", path: "/a", contentType: mergePatch,
			body: `{"spec":{"size":5,"size":5}}`}).is(200).warns(`duplicate field \"spec.size\"`)
		f.do(call{method: "PATCH", path: "/a?fieldValidation=Ignore", contentType: mergePatch,
			body: `{"spec":{"size":5,"size":5}}`}).is(200).warns()
		f.do(call{method: "PATCH", path: "/a", contentType: jsonPatch,
			body: `[{"op":"test","path":"/spec/size","value":5,"foo":1}]`}).is(200).warns(`json patch unknown field \"[0].foo\"`)
		owner := `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}`
		f.do(call{method: "PATCH", path: "/a?dryRun=All", contentType: mergePatch,
			body: `{"metadata":{"ownerReferences":[` + owner + "," + owner + `]}}`}).is(200).
			warns(".metadata.ownerReferences contains duplicate entries after mutating admission happens")
	})

	tests := []struct {
		name    string
		call    call
		code    int
		reason  metav1.StatusReason
		message string
	}{
		{"missing", call{path: "/none", contentType: mergePatch, body: `{}`}, 404, metav1.StatusReasonNotFound,
			`widgets.example.com "none" not found`},
		{"no name", call{contentType: mergePatch, body: `{}`}, 400, metav1.StatusReasonBadRequest,
			"name must be provided"},
		{"content type", call{path: "/a", contentType: "application/strategic-merge-patch+json", body: `{}`}, 415,
			metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, " +
				"application/merge-patch+json, application/apply-patch+yaml"},
		{"no JSON", call{path: "/a", contentType: mergePatch, body: `{`}, 400, metav1.StatusReasonBadRequest,
			"invalid JSON patch"},
		{"no object", call{path: "/a", contentType: mergePatch, body: `[]`}, 400, metav1.StatusReasonBadRequest,
			"error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"force", call{path: "/a?force=true", contentType: mergePatch, body: `{}`}, 422, metav1.StatusReasonInvalid,
			`PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch`},
		{"kind away", call{path: "/a", contentType: mergePatch, body: `{"kind":null}`}, 422, metav1.StatusReasonInvalid,
			""},
		{"stale", call{path: "/a", contentType: mergePatch, body: `{"metadata":{"resourceVersion":"` +
			first.GetResourceVersion() + `"}}`}, 409, metav1.StatusReasonConflict, modified},
		{"name", call{path: "/a", contentType: mergePatch, body: `{"metadata":{"name":"b"}}`}, 400,
			metav1.StatusReasonBadRequest, "the name of the object (b) does not match the name on the URL (a)"},
		{"uid", call{path: "/a", contentType: mergePatch, body: `{"metadata":{"uid":"b"}}`}, 422,
			metav1.StatusReasonInvalid,
			`Widget.example.com "a" is invalid: metadata.uid: Invalid value: "b": field is immutable`},
		{"strict", call{path: "/a?fieldValidation=Strict", contentType: jsonPatch,
			body: `[{"op":"test","path":"/spec/size","value":5,"foo":1}]`}, 422, metav1.StatusReasonInvalid, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.call.method = "PATCH"
			r := f.do(test.call)
			if test.message == "" {
				test.message, _ = r.obj.Object["message"].(string)
				if !strings.Contains(test.message, "is invalid: patch: Invalid value: ") {
					t.Errorf("message: got %q", test.message)
				}
			}
			r.fails(test.code, test.reason, test.message)
		})
	}
}
