package crdhandler

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const ignoreReadErrors = `{"ignoreStoreReadErrorWithClusterBreakingPotential":true}`

func TestDeleteCorrupt(t *testing.T) {
	t.Parallel()
	f := newWrites(t, nil)
	f.created("readable", "")
	if _, err := etcd.Client.Put(t.Context(), f.keys+"corrupt", `{"spec":`); err != nil {
		t.Fatal(err)
	}
	if code := f.del("/corrupt", "").code; code != 500 {
		t.Errorf("got %d, want 500: it cannot be read", code)
	}
	patched := f.do(call{method: "PATCH", path: "/corrupt", contentType: "application/merge-patch+json", body: `{}`})
	message, _ := patched.obj.Object["message"].(string)
	patched.fails(500, metav1.StatusReasonInternalError, message)
	if !strings.HasPrefix(message, "Internal error occurred: StorageError: corrupt object, Code: 7, Key: ") {
		t.Errorf("got %q", message)
	}
	f.do(call{method: "POST", body: widget("corrupt", "", `{}`)}).fails(409, metav1.StatusReasonAlreadyExists,
		`widgets.example.com "corrupt" already exists`)

	f.del("/readable", ignoreReadErrors).fails(409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on widgets.example.com "readable": StorageError: invalid object, Code: 4, Key: `+
			`/registry/example.com/widgets/ns/readable, ResourceVersion: 0, `+
			`AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`)
	f.del("/none", ignoreReadErrors).fails(404, metav1.StatusReasonNotFound, `widgets.example.com "none" not found`)
	f.del("/corrupt", `{"ignoreStoreReadErrorWithClusterBreakingPotential":true,"propagationPolicy":"Orphan"}`).is(422)

	f.del("/corrupt", `{"ignoreStoreReadErrorWithClusterBreakingPotential":true,"dryRun":["All"]}`).is(200)
	f.del("/corrupt", ignoreReadErrors).is(200)
	f.get("corrupt").is(404)
	f.get("readable").is(200)
}

// denyUnsafe is an authorizer that denies the unsafe deletion of the widget "a".
type denyUnsafe struct{ authorizer.Authorizer }

func (denyUnsafe) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "unsafe-delete-ignore-read-errors" && a.GetResource() == "widgets" && a.GetName() == "a" {
		return authorizer.DecisionDeny, "not you", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func TestDeleteCorruptMustBeAllowed(t *testing.T) {
	t.Parallel()
	f := newWrites(t, func(f *writes) { f.config.Authorizer = denyUnsafe{} })
	f.del("/a", ignoreReadErrors).fails(403, metav1.StatusReasonForbidden,
		`widgets.example.com "a" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: not you`)
}
