package crdhandler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDocumentPatch(t *testing.T) {
	const document = `{"a":1,"list":[1,2],"m":{"x":"y"}}`
	operations := func(n int, operation string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(operation+",", n), ",") + "]"
	}
	long := strings.Repeat("x", 1<<20)
	tests := []struct {
		name      string
		document  string
		patchType types.PatchType
		patch     string
		want      string
		wantFound []string
		code      int32
		reason    metav1.StatusReason
		message   string
	}{
		{name: "operations", patchType: types.JSONPatchType, patch: `[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/m"}]`, want: `{"a":2,"list":[1,2]}`},
		{name: "no operation", patchType: types.JSONPatchType, patch: `[]`, want: document},
		{
			name: "unknown member", patchType: types.JSONPatchType, patch: `[{"op":"replace","path":"/a","value":2,"foo":1}]`,
			want: `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`json patch unknown field "[0].foo"`},
		},
		{
			name: "duplicate member", patchType: types.JSONPatchType, patch: `[{"op":"replace","path":"/a","path":"/a","value":2}]`,
			want: `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`json patch duplicate field "[0].path"`},
		},
		{
			name: "no list", patchType: types.JSONPatchType, patch: `{"a":1}`,
			code: 400, reason: metav1.StatusReasonBadRequest,
			message: "error decoding patch: json: cannot unmarshal object into Go value of type []crdhandler.patchOperation",
		},
		{
			name: "failing test", patchType: types.JSONPatchType, patch: `[{"op":"test","path":"/a","value":2}]`,
			code: 422, reason: metav1.StatusReasonInvalid, message: "the server rejected our request due to an error in our request",
		},
		{
			name: "missing path", patchType: types.JSONPatchType, patch: `[{"op":"remove","path":"/b"}]`,
			code: 422, reason: metav1.StatusReasonInvalid, message: "the server rejected our request due to an error in our request",
		},
		{
			name: "test of everything without a value", patchType: types.JSONPatchType, patch: `[{"op":"test","path":""}]`,
			code: 422, reason: metav1.StatusReasonInvalid,
		},
		{
			name: "as many operations as there may be", patchType: types.JSONPatchType, want: document,
			patch: operations(maxPatchOperations, `{"op":"test","path":"/a","value":1}`),
		},
		{
			name: "too many operations", patchType: types.JSONPatchType,
			patch: operations(maxPatchOperations+1, `{"op":"test","path":"/a","value":1}`),
			code:  413, reason: metav1.StatusReasonRequestEntityTooLarge,
			message: "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
		},
		{
			name: "too much copied", patchType: types.JSONPatchType, document: fmt.Sprintf(`{"a":%q}`, long),
			patch: `[{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/c"},{"op":"copy","from":"/a","path":"/d"}]`,
			code:  422, reason: metav1.StatusReasonInvalid, message: "the server rejected our request due to an error in our request",
		},
		{name: "merge", patchType: types.MergePatchType, patch: `{"a":null,"m":{"z":1}}`, want: `{"list":[1,2],"m":{"x":"y","z":1}}`},
		{name: "merge, duplicate", patchType: types.MergePatchType, patch: `{"a":3,"a":2}`, want: `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`duplicate field "a"`}},
		{
			name: "merge, no object", patchType: types.MergePatchType, patch: `[1]`,
			code: 400, reason: metav1.StatusReasonBadRequest,
			message: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := test.document
			if before == "" {
				before = document
			}
			got, found, err := documentPatch{patchType: test.patchType, body: []byte(test.patch), strict: true}.apply(t.Context(), []byte(before))
			if test.code != 0 {
				if test.code == http.StatusUnprocessableEntity {
					wantCode(t, err, test.code, test.reason)
					return
				}
				wantStatus(t, err, test.code, test.reason, test.message)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !equalJSON(t, string(got), test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if fmt.Sprint(found) != fmt.Sprint(test.wantFound) {
				t.Errorf("found %v, want %v", found, test.wantFound)
			}
		})
	}
}

// TestLongPatch holds that a patch that takes long is applied in parts, and left when nobody waits for it.
func TestLongPatch(t *testing.T) {
	items := make([]int, 10_000)
	document, err := json.Marshal(map[string]any{"list": items})
	if err != nil {
		t.Fatal(err)
	}
	insert := `{"op":"add","path":"/list/0","value":1}`
	body := []byte("[" + strings.Repeat(insert+",", maxPatchOperations-1) + insert + "]")
	if parts := maxPatchOperations * (len(document) + len(body)) / patchAtOnce; parts < 3 {
		t.Fatalf("%d parts", parts)
	}
	patch := documentPatch{patchType: types.JSONPatchType, body: body}
	patched, _, err := patch.apply(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ List []int }
	if err := json.Unmarshal(patched, &got); err != nil || len(got.List) != len(items)+maxPatchOperations || got.List[maxPatchOperations-1] != 1 || got.List[maxPatchOperations] != 0 {
		t.Errorf("%d items, %v", len(got.List), err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := patch.apply(gone, document); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

// FuzzDocumentPatch looks for patches that crash, or make of an object what is no JSON.
func FuzzDocumentPatch(f *testing.F) {
	for _, patch := range []string{
		`[{"op":"add","path":"/a/-","value":{"b":[]}}]`, `[{"op":"copy","from":"/m","path":"/m/x"}]`, `[{"op":"move","from":"/list/0","path":"/list/-1"}]`,
		`[{"op":"test","path":"","value":null}]`, `[{"op":"replace","path":"","value":1}]`, `[null]`, `[{}]`, `[{"op":"remove","path":"/list/99999999999999999999"}]`,
		`{"a":{"b":null},"list":null}`, `{"m":[{"x":null}]}`, `null`,
	} {
		f.Add(true, []byte(patch))
		f.Add(false, []byte(patch))
	}
	f.Fuzz(func(t *testing.T, operations bool, patch []byte) {
		patchType := types.MergePatchType
		if operations {
			patchType = types.JSONPatchType
		}
		if _, err := patchJSON(patch, patchType); err != nil {
			return
		}
		for _, strict := range []bool{true, false} {
			got, _, err := documentPatch{patchType: patchType, body: patch, strict: strict}.apply(t.Context(), []byte(`{"a":1,"list":[1,2],"m":{"x":"y"}}`))
			if err == nil && !json.Valid(got) {
				t.Errorf("not JSON: %q", got)
			}
		}
	})
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
