package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crd-server/crd-server/test/outcome"
)

// expected are results with kube-apiserver.
const expected = `# comment
auth TestAccess 3
auth TestInside 1
auth TestInside/b failed
auth TestMany 3
auth TestSkipped skipped
`

func write(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestJudge(t *testing.T) {
	t.Parallel()
	all, err := readExcuses(write(t, `# comment
auth TestAccess/c gate needs a gate
auth TestInside inside reads memory
auth TestFine limit once failed
auth TestMany/missing limit needs a kind
`))
	if err != nil {
		t.Fatal(err)
	}
	known, err := readBaseline(write(t, expected))
	if err != nil {
		t.Fatal(err)
	}
	got := judge("auth", []outcome.Test{
		{Name: "TestAccess", State: outcome.Failed, Parent: true},
		{Name: "TestAccess/a", State: outcome.Passed},
		{Name: "TestAccess/b", State: outcome.Failed, Message: "no"},
		{Name: "TestAccess/c", State: outcome.Failed},
		{Name: "TestInside", State: outcome.Failed, Parent: true},
		{Name: "TestInside/a", State: outcome.Passed},
		{Name: "TestInside/b", State: outcome.Failed},
		{Name: "TestSkipped", State: outcome.Skipped},
		{Name: "TestFine", State: outcome.Passed},
		{Name: "TestNew", State: outcome.Failed, Message: "new"},
		{Name: "TestMany", State: outcome.Passed, Parent: true},
		{Name: "TestMany/a", State: outcome.Passed},
	}, known["auth"], all)
	want := verdict{pkg: "auth", upstream: 7, here: 4,
		excused: map[string]int{"gate": 1, "inside": 1, "limit": 2},
		wrong: []outcome.Test{
			{Name: "TestAccess/b", State: outcome.Failed, Message: "no"},
			{Name: "TestNew", State: outcome.Failed, Message: "new"},
		},
		needless: []excuse{{pkg: "auth", test: "TestFine", class: "limit", reason: "once failed"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{}, excuse{})); diff != "" {
		t.Error(diff)
	}
}

// TestJudgeStrictly has tests that may not be excused, and one that has fewer subtests than before.
func TestJudgeStrictly(t *testing.T) {
	t.Parallel()
	known, err := readBaseline(write(t, expected))
	if err != nil {
		t.Fatal(err)
	}
	all := excuses{{pkg: "auth", test: "TestAccess", class: inside, reason: "it is not true"}}
	got := judge("auth", []outcome.Test{{Name: "TestAccess", State: outcome.Failed}}, known["auth"], all)
	if len(got.wrong) != 1 || !strings.Contains(got.wrong[0].Message, "its excuse is not true") {
		t.Errorf("wrong tests %v", got.wrong)
	}
	got = judge("auth", []outcome.Test{{Name: "TestAccess", State: outcome.Passed}}, known["auth"], nil)
	if len(got.wrong) != 1 || got.wrong[0].Message != "1 tests passed, and 3 with kube-apiserver" {
		t.Errorf("wrong tests %v", got.wrong)
	}
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	path := write(t, expected)
	known, err := readBaseline(path)
	if err != nil {
		t.Fatal(err)
	}
	known.set("auth", []outcome.Test{
		{Name: "TestInside", State: outcome.Failed, Parent: true},
		{Name: "TestInside/a", State: outcome.Passed},
		{Name: "TestInside/b", State: outcome.Passed},
	})
	if err := known.write(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := baselineHeader + "auth TestAccess 3\nauth TestInside 2\nauth TestInside failed\nauth TestMany 3\n" +
		"auth TestSkipped skipped\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"auth TestA", "auth TestA b", "auth TestA 1 2"} {
		if _, err := readBaseline(write(t, line)); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

func TestReadExcuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"auth TestA gate", "auth TestA other reason"} {
		if _, err := readExcuses(write(t, line)); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

// TestFiles reads the files of this folder: each package that they name is run.
func TestFiles(t *testing.T) {
	t.Parallel()
	known, err := readBaseline("results.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readExcuses("excused.txt")
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	for _, name := range packages {
		run[name] = true
		if len(known[name]) == 0 {
			t.Errorf("results.txt does not have package %s", name)
		}
	}
	for name := range known {
		if !run[name] {
			t.Errorf("results.txt has package %s, which is not run", name)
		}
	}
	for _, e := range all {
		top, _, _ := strings.Cut(e.test, "/")
		if _, ran := known[e.pkg][top]; !run[e.pkg] || !ran {
			t.Errorf("%s has no test %s, but it is excused", e.pkg, top)
		}
	}
}

func TestUpdatePage(t *testing.T) {
	t.Parallel()
	path := write(t, "before\n"+tableBegins+"old\n"+tableEnds+"after\n")
	if err := updatePage(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + tableBegins + "new\n" + tableEnds + "after\n"; string(content) != want {
		t.Errorf("page %q, want %q", content, want)
	}
	if err := updatePage(write(t, "no table"), "new\n"); err == nil {
		t.Error("a page without a table was changed")
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("old\n", 20) + "    a_test.go:1: no\n    b.go:2: I1125 10:00:00.0] log\nW1125 10:00:00 " +
		"log\n--- FAIL"
	want := "    ...\n" + strings.Repeat("    old\n", shownLines-2) + "        a_test.go:1: no\n    --- FAIL"
	if diff := cmp.Diff(want, summary(text)); diff != "" {
		t.Error(diff)
	}
}
