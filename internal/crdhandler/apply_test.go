package crdhandler

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func (f *writes) apply(path, body string) reply {
	f.Helper()
	return f.do(call{method: "PATCH", path: path, contentType: "application/apply-patch+yaml", body: body})
}

func TestApply(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	const applied = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  size: 1\n"
	first := f.apply("/a?fieldManager=one", applied).is(201).obj

	t.Run("creates", func(t *testing.T) {
		fields := first.GetManagedFields()
		if len(fields) != 1 || fields[0].Manager != "one" || fields[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("managed fields: got %v", fields)
		}
		if first.GetUID() == "" || first.GetGeneration() != 1 || first.GetNamespace() != "ns" {
			t.Errorf("got %v", first)
		}
	})
	t.Run("the same again", func(t *testing.T) {
		again := f.apply("/a?fieldManager=one", applied).is(200).obj
		if fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("got %v\nwant %v", again, first)
		}
	})
	t.Run("conflict", func(t *testing.T) {
		other := widget("a", "", `{"size":2}`)
		status := f.apply("/a?fieldManager=two", other).fails(409, metav1.StatusReasonConflict,
			`Apply failed with 1 conflict: conflict with "one": .spec.size`)
		if causes := status.Details.Causes; len(causes) != 1 ||
			causes[0].Type != metav1.CauseTypeFieldManagerConflict || causes[0].Field != ".spec.size" {
			t.Errorf("causes: got %v", causes)
		}
		forced := f.apply("/a?fieldManager=two&force=true", other).is(200).obj
		if fmt.Sprint(forced.Object["spec"]) != "map[size:2]" {
			t.Errorf("got %v", forced)
		}
	})
	t.Run("dry run creates nothing", func(t *testing.T) {
		f.apply("/dry?fieldManager=one&dryRun=All", widget("dry", "", `{}`)).is(201)
		f.get("dry").is(404)
	})
	t.Run("duplicate field", func(t *testing.T) {
		const twice = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: twice\nspec:\n  size: 1\n  size: 1\n"
		f.apply("/twice?fieldManager=one&dryRun=All", twice).is(201).warns(`line 7: key \"size\" already set in map`,
			"created")
	})

	tests := []struct {
		name, path, body string
		code             int
		reason           metav1.StatusReason
		message          string
	}{
		{"no manager", "/a", applied, 422, metav1.StatusReasonInvalid,
			`PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`},
		{"managed fields", "/a?fieldManager=one", widget("a", `"managedFields":[{"manager":"x"}]`, `{}`), 400,
			metav1.StatusReasonBadRequest, "metadata.managedFields must be nil"},
		{"uid of nothing", "/none?fieldManager=one", widget("none", `"uid":"u"`, `{}`), 409,
			metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on widgets.example.com "none": uid mismatch: the provided object specified uid u, ` +
				`and no existing object was found`},
		{"name", "/a?fieldManager=one", widget("b", "", `{}`), 400, metav1.StatusReasonBadRequest,
			"the name of the object (b) does not match the name on the URL (a)"},
		{"no name", "/b?fieldManager=one", "apiVersion: example.com/v1\nkind: Widget\n", 400,
			metav1.StatusReasonBadRequest,
			"the name of the object (b based on URL) was undeterminable: name must be provided"},
		{"no YAML", "/a?fieldManager=one", "a: b: c", 400, metav1.StatusReasonBadRequest,
			"error encoding patch: yaml: mapping values are not allowed in this context"},
		{"no map", "/a?fieldManager=one", "[1]", 400, metav1.StatusReasonBadRequest,
			"error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value " +
				"of type map[string]interface {}"},
		{"strict", "/a?fieldManager=one&fieldValidation=Strict",
			"apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  x: 1\n  x: 1\n", 400,
			metav1.StatusReasonBadRequest,
			"error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key \"x\" already " +
				"set in map"},
		{"stale", "/a?fieldManager=two", widget("a", `"resourceVersion":"`+first.GetResourceVersion()+`"`,
			`{"size":2}`), 409, metav1.StatusReasonConflict, modified},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.apply(test.path, test.body).fails(test.code, test.reason, test.message)
		})
	}
}

// denyCreate is an authorizer that denies all creations except that of the object "allowed".
type denyCreate struct{ authorizer.Authorizer }

func (denyCreate) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "create" && a.GetName() != "allowed" {
		return authorizer.DecisionNoOpinion, "creation denied", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func TestApplyMustBeAllowedToCreate(t *testing.T) {
	t.Parallel()
	f := newWrites(t, func(f *writes) { f.config.Authorizer = denyCreate{} })
	f.apply("/a?fieldManager=one", widget("a", "", `{}`)).fails(403, metav1.StatusReasonForbidden,
		`widgets.example.com "a" is forbidden: User "somebody" cannot create resource "widgets" in API group "example.com" `+
			`in the namespace "ns": creation denied`)
	f.apply("/allowed?fieldManager=one", widget("allowed", "", `{}`)).is(201)
}
