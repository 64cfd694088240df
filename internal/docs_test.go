package internal_test

import (
	"io/fs"
	"maps"
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

// TestDocumentedTranscripts checks that docs/conformance.md names every file of transcripts, and no other file.
func TestDocumentedTranscripts(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "test/transcripts/testdata")
	conformance := read(t, filepath.Join(root, "docs/conformance.md"))
	exists := map[string]bool{}
	for _, pattern := range []string{
		"*.txt", "refused/*.txt", "builtin/*.txt", "admission/*.txt", "all/*.txt", "defaults/*.txt", "quotas/*.txt",
		"accounts/*.txt",
	} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			name, err := filepath.Rel(folder, file)
			if err != nil {
				t.Fatal(err)
			}
			name = filepath.ToSlash(name)
			exists[name] = true
			if !strings.Contains(conformance, "`"+name+"`") {
				t.Errorf("docs/conformance.md does not name %s", name)
			}
		}
	}
	for _, found := range regexp.MustCompile("`([a-z/]+\\.txt)`").FindAllStringSubmatch(conformance, -1) {
		if !exists[found[1]] {
			t.Errorf("docs/conformance.md: there is no transcript %s", found[1])
		}
	}
}

// TestDocumentedMetrics checks that docs/metrics.md lists the metrics that only this server has, and no others.
func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	metric := regexp.MustCompile(`"(crd_server_\w+)"`)
	exists := map[string]bool{}
	for _, file := range sources(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range metric.FindAllStringSubmatch(read(t, file), -1) {
			exists[found[1]] = true
		}
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile(`crd_server_\w+`).FindAllString(
		read(t, filepath.Join(root, "docs/metrics.md")), -1) {
		documented[name] = true
	}
	if len(exists) == 0 || !maps.Equal(exists, documented) {
		t.Errorf("the code has %v, docs/metrics.md %v", exists, documented)
	}
}

// commentBreak is the end of a line of a comment, and the start of the next line.
var commentBreak = regexp.MustCompile(`\n[\t ]*// `)

// citation is a reference of a comment to a section of docs/upstream.md.
var citation = regexp.MustCompile(`docs/upstream\.md, "([^"]+)"(?: and "([^"]+)")?`)

// TestCitations checks that docs/conformance.md defines the requirements that comments cite, and docs/upstream.md the
// findings.
func TestCitations(t *testing.T) {
	t.Parallel()
	conformance := read(t, filepath.Join(root, "docs/conformance.md"))
	requirement := regexp.MustCompile(`(?m)//.*?\(((?:[A-Z]\d+)(?:, [A-Z]\d+)*)\)`)
	sections := findings(t)
	for _, file := range sources(t) {
		text := read(t, file)
		for _, found := range requirement.FindAllStringSubmatch(text, -1) {
			for id := range strings.SplitSeq(found[1], ", ") {
				if !strings.Contains(conformance, "- **"+id+"** ") {
					t.Errorf("%s: docs/conformance.md does not define %s", file, id)
				}
			}
		}
		for _, heading := range citedFindings(text) {
			if _, ok := sections[heading]; !ok {
				t.Errorf("%s: docs/upstream.md has no section %q", file, heading)
			}
		}
	}
}

// TestWorkaroundsCiteTheirFindings checks that every folder that docs/upstream.md names for a workaround has a comment
// that cites the finding.
func TestWorkaroundsCiteTheirFindings(t *testing.T) {
	t.Parallel()
	cited := map[string]bool{} // "internal/wire Heading", with each folder above the file
	for _, file := range sources(t) {
		for _, heading := range citedFindings(read(t, file)) {
			folder, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			for ; folder != "."; folder = filepath.Dir(folder) {
				cited[filepath.ToSlash(folder)+" "+heading] = true
			}
		}
	}
	folder := regexp.MustCompile(`internal/[a-z0-9/]+`)
	for heading, section := range findings(t) {
		_, workaround, found := strings.Cut(section, "\n- Workaround: ")
		if !found {
			t.Errorf("docs/upstream.md: %q does not mention a workaround", heading)
		}
		for _, name := range folder.FindAllString(workaround, -1) {
			if !cited[name+" "+heading] {
				t.Errorf("docs/upstream.md: no comment in %s cites %q", name, heading)
			}
		}
	}
}

// findings returns the sections of docs/upstream.md by their headings.
func findings(t *testing.T) map[string]string {
	t.Helper()
	sections := map[string]string{}
	for _, section := range strings.Split(read(t, filepath.Join(root, "docs/upstream.md")), "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if _, ok := sections[heading]; ok {
			t.Errorf("docs/upstream.md has two sections %q", heading)
		}
		sections[heading] = text
	}
	return sections
}

// citedFindings returns the headings that comments in the text of a file cite.
func citedFindings(text string) []string {
	var headings []string
	for _, found := range citation.FindAllStringSubmatch(commentBreak.ReplaceAllString(text, " "), -1) {
		for _, heading := range found[1:] {
			if heading != "" {
				headings = append(headings, heading)
			}
		}
	}
	return headings
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
