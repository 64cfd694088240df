package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crd-server/crd-server/test/outcome"
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
	want := []outcome.Test{
		{Name: "Client Create works", Spec: true, State: outcome.Passed},
		{Name: "Table entry", Spec: true, State: outcome.Skipped},
		{Name: "Table entry #2", Text: "Table entry", Spec: true, State: outcome.Failed, Message: "b_test.go:7: too late"},
		{Name: "[AfterSuite] ", Spec: true, State: outcome.Failed, Message: "c_test.go:1: no"},
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Error(diff)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	specs := []outcome.Test{{Name: "Client (v1) works", Spec: true},
		{Name: "Table entry #2", Text: "Table entry", Spec: true}}
	want := []string{`--ginkgo.focus=Client \(v1\) works$`, "--ginkgo.focus=Table entry$"}
	if diff := cmp.Diff(want, only(specs)); diff != "" {
		t.Error(diff)
	}
	functions := []outcome.Test{{Name: "TestPatch", Parent: true}, {Name: "TestPatch/json"}, {Name: "TestApply"}}
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
			Tests:  []outcome.Test{{Name: "a", State: outcome.Passed}, {Name: "b", State: outcome.Passed}}},
		other: result{Server: crdServer, Seconds: 10, Left: 1,
			Memory: process.Memory{Anonymous: 60e6, Proportional: 90e6},
			Tests: []outcome.Test{{Name: "a", State: outcome.Failed, Message: "no"},
				{Name: "b", State: outcome.Passed, Repeated: true}}},
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
