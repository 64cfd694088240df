package outcome

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events are those of a suite of Ginkgo, which is left out, and of functions with subtests.
const events = `
{"Action":"start"}
{"Action":"run","Test":"TestClient"}
{"Action":"output","Test":"TestClient","Output":"Running Suite: Client - /src\n"}
{"Action":"fail","Test":"TestClient"}
{"Action":"run","Test":"TestPatch"}
{"Action":"run","Test":"TestPatch/json"}
{"Action":"output","Test":"TestPatch/json","Output":"patch_test.go:1: no\n"}
{"Action":"fail","Test":"TestPatch/json"}
{"Action":"run","Test":"TestPatch/merge"}
{"Action":"output","Test":"TestPatch/merge","Output":"noise\n"}
{"Action":"pass","Test":"TestPatch/merge"}
{"Action":"fail","Test":"TestPatch"}
`

func TestDecode(t *testing.T) {
	t.Parallel()
	tests, err := Decode(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	want := []Test{
		{Name: "TestPatch", State: Failed, Parent: true},
		{Name: "TestPatch/json", State: Failed, Message: "patch_test.go:1: no\n"},
		{Name: "TestPatch/merge", State: Passed},
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Error(diff)
	}
	if ran, pass := Count(tests); ran != 2 || pass != 1 {
		t.Errorf("%d of %d tests passed, want 1 of 2", pass, ran)
	}
}

func TestDecodeUnfinished(t *testing.T) {
	t.Parallel()
	tests, err := Decode(strings.NewReader(events + `{"Action":"run","Test":"TestHangs"}`))
	if !errors.Is(err, ErrUnfinished) {
		t.Errorf("error %v, want %v", err, ErrUnfinished)
	}
	if len(tests) != 3 {
		t.Errorf("%d tests have ended, want 3", len(tests))
	}
}

func TestRegressions(t *testing.T) {
	t.Parallel()
	baseline := []Test{
		{Name: "TestPatch", State: Passed, Parent: true},
		{Name: "TestPatch/json", State: Passed},
		{Name: "TestPatch/merge", State: Passed},
		{Name: "needs docker", Spec: true, State: Failed},
		{Name: "skipped here", Spec: true, State: Passed},
		{Name: "gone", Spec: true, State: Passed},
	}
	other := []Test{
		{Name: "TestPatch", State: Failed, Parent: true},
		{Name: "TestPatch/json", State: Failed, Message: "no"},
		{Name: "TestPatch/merge", State: Passed, Repeated: true},
		{Name: "needs docker", Spec: true, State: Failed},
		{Name: "skipped here", Spec: true, State: Skipped},
		{Name: "[AfterSuite] ", Spec: true, State: Failed, Message: "left"},
	}
	want := []Test{
		{Name: "TestPatch/json", State: Failed, Message: "no"},
		{Name: "skipped here", Spec: true, State: Skipped, Message: "it was skipped"},
		{Name: "gone", Message: "it was not run"},
		{Name: "[AfterSuite] ", Spec: true, State: Failed, Message: "left"},
	}
	if diff := cmp.Diff(want, Regressions(baseline, other)); diff != "" {
		t.Error(diff)
	}
}

func TestWithRepeated(t *testing.T) {
	t.Parallel()
	first := []Test{{Name: "a", State: Passed}, {Name: "b", State: Failed}, {Name: "c", State: Failed}}
	second := []Test{{Name: "b", State: Passed}, {Name: "c", State: Failed}}
	want := []Test{
		{Name: "a", State: Passed},
		{Name: "b", State: Passed, Repeated: true},
		{Name: "c", State: Failed},
	}
	if diff := cmp.Diff(want, WithRepeated(first, second)); diff != "" {
		t.Error(diff)
	}
}
