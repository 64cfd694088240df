package internal_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxColumns is how many characters a line has at most, of which a tab is one.
	maxColumns = 120
	// maxLines is how many lines a file has at most.
	maxLines = 350
)

// scopeMethods is how many methods requestScope may have.
const scopeMethods = 45

// budgets are how many lines of code folders may have, without empty lines, tests and etcdtest, which only tests
// import. A new capability may raise the total by its own size, in packages of its own.
var budgets = []struct {
	folder string
	// deep counts the folders below too.
	deep  bool
	lines int
}{
	{"internal", true, 62130},
	{"internal/builtin", true, 13800},
	{"internal/crdhandler", false, 3500},
}

// TestLines checks the lengths of all Go files and of their lines.
func TestLines(t *testing.T) {
	t.Parallel()
	for path, text := range goFiles(t) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > maxColumns {
				t.Errorf("%s:%d has %d columns", path, n, columns)
			}
		}
		if n > maxLines {
			t.Errorf("%s has %d lines", path, n)
		}
	}
}

// TestBudgets checks how much code there is.
func TestBudgets(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	for _, budget := range budgets {
		lines := 0
		for path, text := range files {
			folder := filepath.ToSlash(filepath.Dir(path))
			within := folder == budget.folder || budget.deep && strings.HasPrefix(folder, budget.folder+"/")
			if !within || strings.HasSuffix(path, "_test.go") || folder == "internal/etcdtest" {
				continue
			}
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != "" {
					lines++
				}
			}
		}
		if lines == 0 || lines > budget.lines {
			t.Errorf("%s has %d lines, and may have %d", budget.folder, lines, budget.lines)
		}
	}
}

// TestMethodsOfRequestScope checks that requestScope does not become the place for everything.
func TestMethodsOfRequestScope(t *testing.T) {
	t.Parallel()
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?requestScope\) `)
	methods := 0
	for _, text := range goFiles(t) {
		methods += len(method.FindAllString(text, -1))
	}
	if methods == 0 || methods > scopeMethods {
		t.Errorf("requestScope has %d methods, and may have %d", methods, scopeMethods)
	}
}

// TestImportsDoNothing checks that importing a package of the server runs no code for its effect, and that no setter of
// a library is called that is meant for tests.
func TestImportsDoNothing(t *testing.T) {
	t.Parallel()
	effect := regexp.MustCompile(`(?m)^func init\(\)|\.\w+ForTests?\(`)
	for path, text := range goFiles(t) {
		ours := strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "crdserver")
		if found := effect.FindString(text); ours && found != "" && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has %q", path, found)
		}
	}
}

// folders are those of the repository that have Go files.
var folders = []string{".ci", "bench", "cmd", "crdserver", "crdservertest", "examples", "generate", "internal", "test"}

// goFiles returns the text of all Go files by their paths in the repository, but not of generated ones.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasPrefix(entry.Name(), "zz_generated.") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err == nil {
				texts[filepath.ToSlash(name)] = read(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
