package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = ".."

// documents are the pages that the tests below check.
var documents = []string{"README.md", "CONTRIBUTING.md", "docs/*.md"}

// TestDocumentLinks checks that files which documents link to exist.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), found[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestDocumentedTests checks that tests which documents name with their package exist in that package.
func TestDocumentedTests(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{} // "internal/wire TestX"
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, file := range sources(t) {
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range function.FindAllStringSubmatch(read(t, file), -1) {
			declared[filepath.ToSlash(folder)+" "+found[1]] = true
		}
	}
	list := regexp.MustCompile(`((?:internal|test)/[a-z0-9/]+):?\s+((?:Test|Fuzz)\w+(?:,\s+(?:Test|Fuzz)\w+)*)`)
	name := regexp.MustCompile(`\w+`)
	for _, page := range pages(t) {
		for _, found := range list.FindAllStringSubmatch(read(t, page), -1) {
			for _, test := range name.FindAllString(found[2], -1) {
				if !declared[found[1]+" "+test] {
					t.Errorf("%s: there is no %s in %s", page, test, found[1])
				}
			}
		}
	}
}

// commentBreak is the end of a line of a comment, and the start of the next line.
var commentBreak = regexp.MustCompile(`\n[\t ]*// `)

// TestCitations checks that requirements and findings which comments cite are defined in docs/conformance.md and docs/upstream.md.
func TestCitations(t *testing.T) {
	t.Parallel()
	conformance, upstream := read(t, filepath.Join(root, "docs/conformance.md")), read(t, filepath.Join(root, "docs/upstream.md"))
	requirement := regexp.MustCompile(`(?m)//.*?\(((?:[A-Z]\d+)(?:, [A-Z]\d+)*)\)`)
	finding := regexp.MustCompile(`docs/upstream\.md, "([^"]+)"`)
	for _, file := range sources(t) {
		text := read(t, file)
		for _, found := range requirement.FindAllStringSubmatch(text, -1) {
			for id := range strings.SplitSeq(found[1], ", ") {
				if !strings.Contains(conformance, "- **"+id+"** ") {
					t.Errorf("%s: docs/conformance.md does not define %s", file, id)
				}
			}
		}
		unwrapped := commentBreak.ReplaceAllString(text, " ")
		for _, found := range finding.FindAllStringSubmatch(unwrapped, -1) {
			if !strings.Contains(upstream, "### "+found[1]+"\n") {
				t.Errorf("%s: docs/upstream.md has no section %q", file, found[1])
			}
		}
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range documents {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// sources returns the Go files of the server and its tests.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, folder := range []string{"cmd", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !entry.IsDir() {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
