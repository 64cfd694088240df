// Package internal_test checks all packages of the server: that they import only what the table in docs/architecture.md
// allows, that they do not import the packages that the server replaces, that each has a package comment, and that
// files and packages stay within their lengths. It also checks the documents.
package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/crd-server/crd-server/"

// imports returns the table in docs/architecture.md: the packages of ours that each may import. A package below one of
// these belongs to it.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	_, section, found := strings.Cut(read(t, filepath.Join(root, "docs/architecture.md")),
		"\n| package | one job | imports, of ours |\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of imports")
	}
	rows, _, _ := strings.Cut(section, "\n\n")
	table := map[string][]string{}
	var everythingBelow string
	for row := range strings.Lines(rows) {
		columns := strings.Split(row, "|")
		if len(columns) != 5 || strings.HasPrefix(columns[1], "-") {
			continue
		}
		name, allowed := strings.TrimSpace(columns[1]), strings.TrimSpace(columns[3])
		if everythingBelow != "" && !slices.Contains(forTests, name) {
			table[everythingBelow] = append(table[everythingBelow], name)
		}
		table[name] = nil
		switch allowed {
		case "-":
		case "everything below":
			everythingBelow = name
		default:
			for _, to := range strings.Split(allowed, ", ") {
				if _, public := table[to]; !public {
					to = "internal/" + to
				}
				table[name] = append(table[name], to)
			}
		}
	}
	return table
}

// forTests are the packages that only tests may import.
var forTests = []string{"internal/etcdtest"}

// banned are the packages that crd-server replaces, and those that import them; with "/..." also everything below.
// Tests may compare with them.
var banned = []string{
	"k8s.io/apiserver/pkg/server",
	"k8s.io/apiserver/pkg/server/options",
	"k8s.io/apiserver/pkg/endpoints",
	"k8s.io/apiserver/pkg/endpoints/handlers",
	"k8s.io/apiserver/pkg/registry/...",
	"k8s.io/apiserver/pkg/storage",
	"k8s.io/apiserver/pkg/storage/etcd3/...",
	"k8s.io/apiserver/pkg/storage/cacher/...",
	"k8s.io/apiserver/pkg/storage/storagebackend/...",
	"k8s.io/apiextensions-apiserver/pkg/apiserver",
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource",
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
}

// packages lists the module's packages that have code.
func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-pgo=off", "-json=ImportPath,Dir,Doc,GoFiles,Imports",
		"./...")
	command.Dir = ".."
	var stderr strings.Builder
	command.Stderr = &stderr
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(printed)))
	for {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if len(one.GoFiles) > 0 {
			all = append(all, one)
		}
		for _, file := range append(one.GoFiles, ".") {
			// go test keeps a result until a file the test has looked at changes.
			if _, err := os.Stat(filepath.Join(one.Dir, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// home returns the entry of the table that a package of ours belongs to: of several, the one that is nearest to it.
func home(table map[string][]string, path string) (nearest string, found bool) {
	for entry := range table {
		within := path == module+entry || strings.HasPrefix(path, module+entry+"/")
		if within && len(entry) > len(nearest) {
			nearest, found = entry, true
		}
	}
	return nearest, found
}

func TestImports(t *testing.T) {
	table := imports(t)
	for _, one := range packages(t) {
		from, known := home(table, one.ImportPath)
		if !known {
			t.Errorf("%s is not in the table of docs/architecture.md", one.ImportPath)
			continue
		}
		for _, path := range one.Imports {
			if isBanned(path) {
				t.Errorf("%s imports %s, which crd-server replaces", one.ImportPath, path)
			}
			if !strings.HasPrefix(path, module) {
				continue
			}
			to, _ := home(table, path)
			if slices.Contains(forTests, to) {
				t.Errorf("%s imports %s, which is for tests only", one.ImportPath, path)
			} else if to != from && !slices.Contains(table[from], to) {
				t.Errorf("%s imports %s, which the table does not allow", one.ImportPath, path)
			}
		}
	}
}

func isBanned(path string) bool {
	return slices.ContainsFunc(banned, func(pattern string) bool {
		root, below := strings.CutSuffix(pattern, "/...")
		return path == root || below && strings.HasPrefix(path, root+"/")
	})
}

// TestTableHasNoCircles checks that no package may import itself through others.
func TestTableHasNoCircles(t *testing.T) {
	table := imports(t)
	var visit func(from string, path []string)
	visit = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("the table has a circle: %s", strings.Join(append(path, from), " -> "))
		}
		for _, to := range table[from] {
			visit(to, append(slices.Clone(path), from))
		}
	}
	for entry := range table {
		visit(entry, nil)
	}
}

func TestPackageDocs(t *testing.T) {
	for _, one := range packages(t) {
		if one.Doc == "" {
			t.Errorf("%s does not say what it is for: it has no package comment", one.ImportPath)
		}
	}
}
