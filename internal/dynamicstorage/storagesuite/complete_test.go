package storagesuite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testedPackage = "k8s.io/apiserver/pkg/storage/testing"

// notApplicable are the functions of upstream's package that are not run, with the reasons.
var notApplicable = map[string]string{
	"RunTestCreateWithTTL":           "objects that expire are an affair of events, which are not custom resources",
	"RunTestGuaranteedUpdateWithTTL": "objects that expire are an affair of events, which are not custom resources",
	"RunTestKeySchema": "a key is \"name\" or \"namespace/name\" and belongs to a Resource: what the test stores at the " +
		"resource itself " +
		"is refused, and a key cannot lack its resource (dynamicstorage )",
	"RunTestGetListWithErrorAggregation": "the answer to a list with objects that cannot be read is crdhandler's " +
		"(TestListOfCorruptObjects); " +
		"dynamicstorage returns each with its error",
	"RunTestWatchInitializationSignal": "the signal is for priority and fairness and given by crdhandler, when it has " +
		"sent the initial objects",
}

// TestComplete checks that every test of upstream's package is run or listed, so that none of a new release is missed.
func TestComplete(t *testing.T) {
	run := called(t, "suite_test.go")
	known := map[string]bool{}
	for _, name := range upstreamTests(t) {
		known[name] = true
		switch reason := notApplicable[name]; {
		case run[name] && reason != "":
			t.Errorf("%s is run, and listed as one that is not", name)
		case !run[name] && reason == "":
			t.Errorf("%s is neither run nor listed with a reason", name)
		}
	}
	for name := range notApplicable {
		if !known[name] {
			t.Errorf("%s is listed, but does not exist", name)
		}
	}
	if len(known) < 50 {
		t.Errorf("only %d tests were found in %s", len(known), testedPackage)
	}
}

// upstreamTests are the exported functions of upstream's package that run a test.
func upstreamTests(t *testing.T) (names []string) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", testedPackage).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, declared := range parse(t, file).Decls {
			f, ok := declared.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Run") &&
				!strings.HasPrefix(f.Name.Name, "RunBenchmark") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// called returns the functions of upstream's package that a file calls.
func called(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "storagetesting" {
				names[selector.Sel.Name] = true
			}
		}
		return true
	})
	return names
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
