package crdhandler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)

	t.Run("sets the fields that clients cannot set", func(t *testing.T) {
		obj := f.do(call{method: "POST", body: widget("a",
			`"uid":"mine","generation":7,"selfLink":"/x","creationTimestamp":"2001-01-01T00:00:00Z",`+
				`"deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5`,
			`{"size":1}`)}).is(201).warns("created").obj
		if obj.GetUID() == "" || obj.GetUID() == "mine" {
			t.Errorf("uid: got %q", obj.GetUID())
		}
		if obj.GetNamespace() != "ns" || obj.GetGeneration() != 1 || obj.GetSelfLink() != "" ||
			obj.GetResourceVersion() == "" {
			t.Errorf("metadata: got %v", obj.Object["metadata"])
		}
		if created := obj.GetCreationTimestamp(); created.Year() < 2020 || obj.GetDeletionTimestamp() != nil ||
			obj.GetDeletionGracePeriodSeconds() != nil {
			t.Errorf("times: got %v", obj.Object["metadata"])
		}
		fields := obj.GetManagedFields()
		if len(fields) != 1 || fields[0].Manager != "tester" ||
			fields[0].Operation != metav1.ManagedFieldsOperationUpdate {
			t.Errorf("managed fields: got %v", fields)
		}
		if stored := f.get("a").is(200).obj; fmt.Sprint(stored) != fmt.Sprint(obj) {
			t.Errorf("stored %v\nanswered %v", stored, obj)
		}
	})
	t.Run("yaml", func(t *testing.T) {
		body := "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: yaml\nspec:\n  size: 1\n  size: 2\n"
		obj := f.do(call{method: "POST", body: body,
			contentType: "application/yaml"}).is(201).warns(`key \"size\" already set in map`, "created").obj
		if obj.GetName() != "yaml" {
			t.Errorf("got %v", obj)
		}
	})

	const object = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":`
	tests := []struct {
		name    string
		call    call
		code    int
		reason  metav1.StatusReason
		message string
	}{
		{"taken", call{body: widget("a", "", `{}`)}, 409, metav1.StatusReasonAlreadyExists,
			`widgets.example.com "a" already exists`},
		{"resourceVersion", call{body: widget("b", `"resourceVersion":"1"`, `{}`)}, 500, metav1.StatusReasonUnknown,
			"resourceVersion should not be set on objects to be created"},
		{"namespace", call{body: widget("b", `"namespace":"other"`, `{}`)}, 400, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"apiVersion", call{body: strings.Replace(widget("b", "", `{}`), "/v1", "/v2", 1)}, 400,
			metav1.StatusReasonBadRequest,
			"the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)"},
		{"no name", call{body: object + `{}}`}, 422, metav1.StatusReasonInvalid,
			`Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"invalid", call{body: widget("b", "", `{"bad":true}`)}, 422, metav1.StatusReasonInvalid,
			`Widget.example.com "b" is invalid: spec.bad: Invalid value: true: no bad widgets`},
		{"malformed",
			call{body: `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"this is a long one"`}, 400,
			metav1.StatusReasonBadRequest,
			`the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: ` +
				`unexpected end of JSON input ({"kind":"Widget","apiVersion": ...)`},
		{"empty", call{}, 400, metav1.StatusReasonBadRequest,
			`the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: ` +
				`unexpected end of JSON input (<empty>)`},
		{"content type", call{contentType: "text/plain", body: `x`}, 415, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: application/json, " +
				"application/yaml"},
		{"too large", call{body: widget("b", "", `"`+strings.Repeat("x", 3<<20)+`"`)}, 413,
			metav1.StatusReasonRequestEntityTooLarge, "Request entity too large: limit is 3145728"},
		{"dry run", call{path: "?dryRun=Some", body: widget("b", "", `{}`)}, 422, metav1.StatusReasonInvalid,
			`CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`},
		{"field validation", call{path: "?fieldValidation=Maybe", body: widget("b", "", `{}`)}, 422,
			metav1.StatusReasonInvalid,
			`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Maybe": supported values: "", ` +
				`"Ignore", "Strict", "Warn"`},
		{"strict", call{path: "?fieldValidation=Strict", body: object + `{"name":"b"},"spec":{"a":1,"a":2}}`}, 400,
			metav1.StatusReasonBadRequest,
			`Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.a"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.call.method = "POST"
			f.do(test.call).fails(test.code, test.reason, test.message)
		})
	}
	f.get("b").is(404)

	t.Run("dry run", func(t *testing.T) {
		obj := f.do(call{method: "POST", path: "?dryRun=All", body: widget("dry", "", `{}`)}).is(201).obj
		if obj.GetUID() == "" || obj.GetResourceVersion() != "" {
			t.Errorf("got %v", obj)
		}
		f.get("dry").is(404)
		f.do(call{method: "POST", path: "?dryRun=All", body: widget("a", "", `{}`)}).fails(409,
			metav1.StatusReasonAlreadyExists, `widgets.example.com "a" already exists`)
	})
	t.Run("duplicate owners", func(t *testing.T) {
		owner := `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}`
		obj := f.do(call{method: "POST", body: widget("owned", `"ownerReferences":[`+owner+","+owner+`]`,
			`{}`)}).is(201).
			warns(".metadata.ownerReferences contains duplicate entries; API server dedups", "created").obj
		if len(obj.GetOwnerReferences()) != 1 {
			t.Errorf("got %v", obj.GetOwnerReferences())
		}
	})
	t.Run("being deleted", func(t *testing.T) {
		f.created("leaving", `"finalizers":["example.com/f"]`)
		f.do(call{method: "DELETE", path: "/leaving"}).is(200)
		f.do(call{method: "POST", body: widget("leaving", "", `{}`)}).
			fails(409, metav1.StatusReasonAlreadyExists,
				`object is being deleted: widgets.example.com "leaving" already exists`)
	})
}

func TestCreateGenerateName(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	body := strings.Replace(widget("", `"generateName":"`+strings.Repeat("g", 70)+`"`, `{}`), `"name":"",`, "", 1)
	obj := f.do(call{method: "POST", body: body}).is(201).obj
	if name := obj.GetName(); len(name) != 63 || !strings.HasPrefix(name, strings.Repeat("g", 58)) {
		t.Errorf("got name %q", name)
	}
	f.created("fixed", "")
	f.do(call{method: "POST", body: widget("fixed", `"generateName":"x"`, `{}`)}).
		fails(409, metav1.StatusReasonAlreadyExists,
			`widgets.example.com "fixed" already exists, the server was not able to generate a unique name for the object`)
}

func TestCreateWhileTerminating(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.url = strings.Replace(f.url, "/ns/", "/terminating/", 1)
	const message = `widgets.example.com "a" is forbidden: create not allowed while custom resource definition is ` +
		`terminating`
	f.do(call{method: "POST", body: widget("a", "", `{}`)}).fails(http.StatusForbidden, metav1.StatusReasonForbidden,
		message)
	f.do(call{method: "PATCH", path: "/a?fieldManager=m", contentType: "application/apply-patch+yaml",
		body: widget("a", "", `{}`)}).
		fails(http.StatusForbidden, metav1.StatusReasonForbidden, message)
	f.do(call{method: "PATCH", path: "/a", contentType: "application/merge-patch+json", body: `{}`}).
		fails(404, metav1.StatusReasonNotFound, `widgets.example.com "a" not found`)
}
