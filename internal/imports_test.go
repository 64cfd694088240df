// Package internal_test holds what is true of all packages below: who may
// import whom (the table in docs/architecture.md), which of Kubernetes' own
// packages nobody may import, and that each package says what it is for.
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

// mayImport says which of our packages each may import. A package below one
// of these belongs to it. The order is that of the layers: nothing imports
// what stands further up.
var mayImport = map[string][]string{
	"cmd/crd-server": {"internal/server"},
	"internal/server": {
		"internal/access/admission", "internal/access/audit", "internal/access/authentication", "internal/access/authorization", "internal/access/reviews",
		"internal/apiservices", "internal/conversion", "internal/crdhandler", "internal/discovery", "internal/controllers", "internal/encryption",
		"internal/crds", "internal/validation", "internal/dynamicstorage", "internal/wire",
	},
	"internal/apiservices":    {},
	"internal/crdhandler":     {"internal/managedfields", "internal/crds", "internal/validation", "internal/conversion", "internal/dynamicstorage", "internal/objectjson", "internal/wire"},
	"internal/managedfields":  {"internal/crds", "internal/objectjson"},
	"internal/conversion":     {"internal/boundedhttp", "internal/validation", "internal/wire"},
	"internal/discovery":      {"internal/crds", "internal/objectjson", "internal/wire"},
	"internal/controllers":    {"internal/crds", "internal/validation", "internal/dynamicstorage"},
	"internal/crds":           {"internal/validation", "internal/dynamicstorage", "internal/objectjson"},
	"internal/validation":     {},
	"internal/dynamicstorage": {},
	"internal/objectjson":     {},
	"internal/wire":           {},
	"internal/encryption":     {},
	"internal/boundedhttp":    {},
	"internal/etcdtest":       {},

	"internal/access/admission":      {"internal/boundedhttp"},
	"internal/access/audit":          {"internal/boundedhttp"},
	"internal/access/authentication": {"internal/boundedhttp", "internal/access/hostcluster"},
	"internal/access/authorization":  {"internal/boundedhttp", "internal/access/hostcluster"},
	"internal/access/hostcluster":    {},
	"internal/access/reviews":        {},
}

// forTests are the packages that only tests may import.
var forTests = []string{"internal/etcdtest"}

// banned are the packages that crd-server is in the place of, and those that
// would bring them in; with "/..." also everything below. Tests may use them
// as a reference.
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
	command := exec.CommandContext(t.Context(), "go", "list", "-pgo=off", "-json=ImportPath,Dir,Doc,GoFiles,Imports", "./...")
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

// home is the entry of the table that a package of ours belongs to.
func home(path string) (string, bool) {
	for entry := range mayImport {
		if path == module+entry || strings.HasPrefix(path, module+entry+"/") {
			return entry, true
		}
	}
	return "", false
}

func TestImports(t *testing.T) {
	for _, one := range packages(t) {
		from, known := home(one.ImportPath)
		if !known {
			t.Errorf("%s is not in the table: add it to docs/architecture.md and here", one.ImportPath)
			continue
		}
		for _, path := range one.Imports {
			if isBanned(path) {
				t.Errorf("%s imports %s, which crd-server is in the place of", one.ImportPath, path)
			}
			if !strings.HasPrefix(path, module) {
				continue
			}
			to, _ := home(path)
			if slices.Contains(forTests, to) {
				t.Errorf("%s imports %s, which is for tests only", one.ImportPath, path)
			} else if to != from && !slices.Contains(mayImport[from], to) {
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

// TestTableHasNoCircles checks the table itself: what a package may import
// leads nowhere back to it.
func TestTableHasNoCircles(t *testing.T) {
	var visit func(from string, path []string)
	visit = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("the table has a circle: %s", strings.Join(append(path, from), " -> "))
		}
		for _, to := range mayImport[from] {
			visit(to, append(slices.Clone(path), from))
		}
	}
	for entry := range mayImport {
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
