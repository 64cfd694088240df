package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crd-server/crd-server/test/process"
)

func TestDecodeGinkgo(t *testing.T) {
	t.Parallel()
	tests, err := decodeGinkgo([]byte(`[{"SuiteDescription": "Client", "SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"ContainerHierarchyTexts": ["Client", "Create"], "LeafNodeType": "It", "LeafNodeText": "works", "State": "passed"},
		{"ContainerHierarchyTexts": ["Table"], "LeafNodeType": "It", "LeafNodeText": "entry", "State": "skipped"},
		{"ContainerHierarchyTexts": ["Table"], "LeafNodeType": "It", "LeafNodeText": "entry", "State": "timedout",
			"Failure": {"Message": "too late", "Location": {"FileName": "/a/b_test.go", "LineNumber": 7}}},
		{"LeafNodeType": "AfterSuite", "State": "failed",
			"Failure": {"Message": "no", "Location": {"FileName": "c_test.go", "LineNumber": 1}}}
	]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []test{
		{Name: "Client Create works", Spec: true, State: passed},
		{Name: "Table entry", Spec: true, State: skipped},
		{Name: "Table entry #2", Text: "Table entry", Spec: true, State: failed, Message: "b_test.go:7: too late"},
		{Name: "[AfterSuite] ", Spec: true, State: failed, Message: "c_test.go:1: no"},
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Error(diff)
	}
}

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

func TestDecodeEvents(t *testing.T) {
	t.Parallel()
	tests, err := decodeEvents(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	want := []test{
		{Name: "TestPatch", State: failed, Parent: true},
		{Name: "TestPatch/json", State: failed, Message: "patch_test.go:1: no\n"},
		{Name: "TestPatch/merge", State: passed},
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Error(diff)
	}
	if ran, pass := count(tests); ran != 2 || pass != 1 {
		t.Errorf("%d of %d tests passed, want 1 of 2", pass, ran)
	}
}

func TestDecodeEventsUnfinished(t *testing.T) {
	t.Parallel()
	tests, err := decodeEvents(strings.NewReader(events + `{"Action":"run","Test":"TestHangs"}`))
	if !errors.Is(err, errUnfinished) {
		t.Errorf("error %v, want %v", err, errUnfinished)
	}
	if len(tests) != 3 {
		t.Errorf("%d tests have ended, want 3", len(tests))
	}
}

func TestRegressions(t *testing.T) {
	t.Parallel()
	baseline := []test{
		{Name: "TestPatch", State: passed, Parent: true},
		{Name: "TestPatch/json", State: passed},
		{Name: "TestPatch/merge", State: passed},
		{Name: "needs docker", Spec: true, State: failed},
		{Name: "skipped here", Spec: true, State: passed},
		{Name: "gone", Spec: true, State: passed},
	}
	other := []test{
		{Name: "TestPatch", State: failed, Parent: true},
		{Name: "TestPatch/json", State: failed, Message: "no"},
		{Name: "TestPatch/merge", State: passed, Repeated: true},
		{Name: "needs docker", Spec: true, State: failed},
		{Name: "skipped here", Spec: true, State: skipped},
		{Name: "[AfterSuite] ", Spec: true, State: failed, Message: "left"},
	}
	want := []test{
		{Name: "TestPatch/json", State: failed, Message: "no"},
		{Name: "skipped here", Spec: true, State: skipped, Message: "it was skipped"},
		{Name: "gone", Message: "it was not run"},
		{Name: "[AfterSuite] ", Spec: true, State: failed, Message: "left"},
	}
	if diff := cmp.Diff(want, regressions(baseline, other)); diff != "" {
		t.Error(diff)
	}
}

func TestWithRepeated(t *testing.T) {
	t.Parallel()
	first := []test{{Name: "a", State: passed}, {Name: "b", State: failed}, {Name: "c", State: failed}}
	second := []test{{Name: "b", State: passed}, {Name: "c", State: failed}}
	want := []test{
		{Name: "a", State: passed},
		{Name: "b", State: passed, Repeated: true},
		{Name: "c", State: failed},
	}
	if diff := cmp.Diff(want, withRepeated(first, second)); diff != "" {
		t.Error(diff)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	specs := []test{{Name: "Client (v1) works", Spec: true}, {Name: "Table entry #2", Text: "Table entry", Spec: true}}
	want := []string{`--ginkgo.focus=Client \(v1\) works$`, "--ginkgo.focus=Table entry$"}
	if diff := cmp.Diff(want, only(specs)); diff != "" {
		t.Error(diff)
	}
	functions := []test{{Name: "TestPatch", Parent: true}, {Name: "TestPatch/json"}, {Name: "TestApply"}}
	want = []string{"-test.run=^(TestPatch|TestPatch|TestApply)$"}
	if diff := cmp.Diff(want, only(functions)); diff != "" {
		t.Error(diff)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	comparisons := []comparison{{
		name: "kro/core",
		baseline: result{Server: kubeAPIServer, Seconds: 20,
			Memory: process.Memory{Anonymous: 300e6, Proportional: 400e6},
			Tests:  []test{{Name: "a", State: passed}, {Name: "b", State: passed}}},
		other: result{Server: crdServer, Seconds: 10, Left: 1,
			Memory: process.Memory{Anonymous: 60e6, Proportional: 90e6},
			Tests:  []test{{Name: "a", State: failed, Message: "no"}, {Name: "b", State: passed, Repeated: true}}},
	}}
	text, failures := findings(comparisons)
	want := `kro/core with crd-server: 1 processes were left running
kro/core with crd-server: passed when it was repeated: b
kro/core fails with crd-server: a
    no
`
	if diff := cmp.Diff(want, text); diff != "" || failures != 1 {
		t.Errorf("%d failures, want 1; %s", failures, diff)
	}
	wantTable := `| suite    | server         | tests | passed | seconds | peak memory | with files |
| ---      | ---            | --:   | --:    | --:     | --:         | --:        |
| kro/core | kube-apiserver | 2     | 2      | 20.0    | 300 MB      | 400 MB     |
| kro/core | crd-server     | 2     | 1      | 10.0    | 60 MB       | 90 MB      |
`
	if diff := cmp.Diff(wantTable, table(comparisons)); diff != "" {
		t.Error(diff)
	}
}
