package documentpatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// operations returns a patch of n times an operation.
func operations(n int, operation string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(operation+",", n), ",") + "]"
}

func TestApply(t *testing.T) {
	t.Parallel()
	const document = `{"a":1,"list":[1,2],"m":{"x":"y"}}`
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
		{name: "operations", patchType: types.JSONPatchType,
			patch: `[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/m"}]`,
			want:  `{"a":2,"list":[1,2]}`},
		{name: "no operation", patchType: types.JSONPatchType, patch: `[]`, want: document},
		{
			name: "unknown member", patchType: types.JSONPatchType,
			patch: `[{"op":"replace","path":"/a","value":2,"foo":1}]`,
			want:  `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`json patch unknown field "[0].foo"`},
		},
		{
			name: "duplicate member", patchType: types.JSONPatchType,
			patch: `[{"op":"replace","path":"/a","path":"/a","value":2}]`,
			want:  `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`json patch duplicate field "[0].path"`},
		},
		{
			name: "no list", patchType: types.JSONPatchType, patch: `{"a":1}`,
			code: 400, reason: metav1.StatusReasonBadRequest,
			message: "error decoding patch: json: cannot unmarshal object into Go value of type []documentpatch.operation",
		},
		{
			name: "failing test", patchType: types.JSONPatchType, patch: `[{"op":"test","path":"/a","value":2}]`,
			code: 422, reason: metav1.StatusReasonInvalid,
			message: "the server rejected our request due to an error in our request",
		},
		{
			name: "missing path", patchType: types.JSONPatchType, patch: `[{"op":"remove","path":"/b"}]`,
			code: 422, reason: metav1.StatusReasonInvalid,
			message: "the server rejected our request due to an error in our request",
		},
		{
			name: "test of everything without a value", patchType: types.JSONPatchType,
			patch: `[{"op":"test","path":""}]`,
			code:  422, reason: metav1.StatusReasonInvalid,
		},
		{
			name: "as many operations as there may be", patchType: types.JSONPatchType, want: document,
			patch: operations(maxOperations, `{"op":"test","path":"/a","value":1}`),
		},
		{
			name: "too many operations", patchType: types.JSONPatchType,
			patch: operations(maxOperations+1, `{"op":"test","path":"/a","value":1}`),
			code:  413, reason: metav1.StatusReasonRequestEntityTooLarge,
			message: "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
		},
		{
			name: "too much copied", patchType: types.JSONPatchType, document: fmt.Sprintf(`{"a":%q}`, long),
			patch: operations(100, `{"op":"copy","from":"","path":"/b"}`),
			code:  422, reason: metav1.StatusReasonInvalid,
			message: "the server rejected our request due to an error in our request",
		},
		{name: "merge", patchType: types.MergePatchType, patch: `{"a":null,"m":{"z":1}}`,
			want: `{"list":[1,2],"m":{"x":"y","z":1}}`},
		{name: "merge, duplicate", patchType: types.MergePatchType, patch: `{"a":3,"a":2}`,
			want: `{"a":2,"list":[1,2],"m":{"x":"y"}}`, wantFound: []string{`duplicate field "a"`}},
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
			got, found, err := Patch{Type: test.patchType, Body: []byte(test.patch), Strict: true}.Apply(t.Context(),
				[]byte(before))
			if test.code != 0 {
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

// TestCopyLimit checks kube-apiserver's limit of copied bytes, which the command sets for the process.
func TestCopyLimit(t *testing.T) {
	jsonpatch.AccumulatedCopySizeLimit = MaxCopies
	t.Cleanup(func() { jsonpatch.AccumulatedCopySizeLimit = 0 })
	document := fmt.Appendf(nil, `{"a":%q}`, strings.Repeat("x", MaxCopies/100))
	for copies, code := range map[int]int32{99: 0, 100: http.StatusUnprocessableEntity} {
		body := operations(copies, `{"op":"copy","from":"/a","path":"/b"}`)
		_, _, err := Patch{Type: types.JSONPatchType, Body: []byte(body)}.Apply(t.Context(), document)
		if code != 0 {
			wantStatus(t, err, code, metav1.StatusReasonInvalid, "")
		} else if err != nil {
			t.Errorf("%d copies: %v", copies, err)
		}
	}
}

// TestUntilGrown checks how many copies are applied at once if the library has no limit.
func TestUntilGrown(t *testing.T) {
	t.Parallel()
	patch, err := jsonpatch.DecodePatch([]byte(operations(20, `{"op":"copy","from":"","path":"/b"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{1: 10, 512: 1, 513: 1, 5000: 1, 0: 20} {
		if got := untilGrown(patch, size, 1024); got != want {
			t.Errorf("%d copies in %d bytes, not %d", got, size, want)
		}
	}
}

// TestLongPatch checks that a long patch is applied in batches, and that Apply stops when the context ends.
func TestLongPatch(t *testing.T) {
	t.Parallel()
	items := make([]int, 10_000)
	document, err := json.Marshal(map[string]any{"list": items})
	if err != nil {
		t.Fatal(err)
	}
	insert := `{"op":"add","path":"/list/0","value":1}`
	body := []byte("[" + strings.Repeat(insert+",", maxOperations-1) + insert + "]")
	if parts := maxOperations * (len(document) + len(body)) / bytesBetweenChecks; parts < 3 {
		t.Fatalf("%d parts", parts)
	}
	patch := Patch{Type: types.JSONPatchType, Body: body}
	patched, _, err := patch.Apply(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ List []int }
	if err := json.Unmarshal(patched, &got); err != nil || len(got.List) != len(items)+maxOperations ||
		got.List[maxOperations-1] != 1 || got.List[maxOperations] != 0 {
		t.Errorf("%d items, %v", len(got.List), err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := patch.Apply(gone, document); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}

// TestDescent checks that a patch does not go down far into a large document.
func TestDescent(t *testing.T) {
	t.Parallel()
	const levels = 700
	nested := func(value string) string {
		return strings.Repeat(`{"a":`, levels) + value + strings.Repeat("}", levels)
	}
	path := strings.Repeat("/a", levels)
	large := fmt.Sprintf("{%q:1}", strings.Repeat("x", 100_000))
	for _, test := range []struct {
		name, document, patch string
		patchType             types.PatchType
		refused               bool
	}{
		{"merge", nested("{}"), nested("{}"), types.MergePatchType, false},
		{"merge into a large document", nested(large), nested("{}"), types.MergePatchType, true},
		{"merge a large patch", nested("{}"), nested(large), types.MergePatchType, true},
		{"operation", nested("{}"), `[{"op":"remove","path":"` + path + `"}]`, types.JSONPatchType, false},
		{"operation in a large document", nested(large), `[{"op":"remove","path":"` + path + `"}]`, types.JSONPatchType,
			true},
		{"copy from a large document", nested(large), `[{"op":"copy","from":"` + path + `","path":"/a"}]`,
			types.JSONPatchType,
			true},
		{"operation at the top", nested(large), `[{"op":"remove","path":"/a"}]`, types.JSONPatchType, false},
		{"merge at the top", nested(large), `{"a":null}`, types.MergePatchType, false},
		{"many values", "{}", `{"a":[` + strings.Repeat("1,", maxValues) + "1,1]}", types.MergePatchType, true},
		{"many commas in a text", "{}", `{"a":"` + strings.Repeat("1,", maxValues+1) + `"}`, types.MergePatchType, false},
		{"many members", nested(large), `{` + strings.Repeat(`"b":{},`, 1000) + `"b":{}}`, types.MergePatchType, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			patch := Patch{Type: test.patchType, Body: []byte(test.patch)}
			_, _, err := patch.Apply(t.Context(), []byte(test.document))
			if !test.refused && err != nil {
				t.Error(err)
			}
			if test.refused && !apierrors.IsRequestEntityTooLargeError(err) {
				t.Errorf("%v, want 413", err)
			}
		})
	}
}

// FuzzApply checks that no patch makes Apply panic or return a document that is not JSON.
func FuzzApply(f *testing.F) {
	for _, patch := range []string{
		`[{"op":"add","path":"/a/-","value":{"b":[]}}]`, `[{"op":"copy","from":"/m","path":"/m/x"}]`,
		`[{"op":"move","from":"/list/0","path":"/list/-1"}]`,
		`[{"op":"test","path":"","value":null}]`, `[{"op":"replace","path":"","value":1}]`, `[null]`, `[{}]`,
		`[{"op":"remove","path":"/list/99999999999999999999"}]`,
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
		if !json.Valid(patch) {
			return
		}
		for _, strict := range []bool{true, false} {
			got, _, err := Patch{Type: patchType, Body: patch, Strict: strict}.Apply(t.Context(),
				[]byte(`{"a":1,"list":[1,2],"m":{"x":"y"}}`))
			if err == nil && !json.Valid(got) {
				t.Errorf("not JSON: %q", got)
			}
		}
	})
}

// wantStatus checks an API error. It does not compare the library's message for a patch that cannot be applied.
func wantStatus(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a Status", err)
	}
	got := status.Status()
	if got.Code != code || got.Reason != reason || code != http.StatusUnprocessableEntity && got.Message != message {
		t.Errorf("got %d %s %q\nwant %d %s %q", got.Code, got.Reason, got.Message, code, reason, message)
	}
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
