package manifests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPositions checks the positions and the errors of documents.
func TestPositions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, content string
		want                []string // number, line, and name or error of each document
	}{
		{"one", "a.yaml", "name: a\n", []string{"1 1 a"}},
		{"empty", "a.yaml", "", nil},
		{"only comments", "a.yaml", "# comment\n---\n\n# comment\n", nil},
		{"comments and empty documents", "a.yaml",
			"# license\n\n---\n# one\nname: a\n---\n---\n\n---  # two\n\nname: b\n---\nname: c",
			[]string{"1 5 a", "2 11 b", "3 13 c"}},
		{"windows", "a.yaml", "---\r\nname: a\r\n---\r\nname: b\r\n", []string{"1 2 a", "2 4 b"}},
		{"separator at the end", "a.yaml", "name: a\n---", []string{"1 1 a"}},
		{"errors do not end the file", "a.yaml", "name: a\n---\nname: b\nname: c\n---\n- d\n---\nname: e\n", []string{
			`1 1 a`, `2 3 yaml: unmarshal errors: line 4: key "name" already set in map`, "3 6 not an object", "4 8 e"}},
		{"syntax error", "a.yaml", "name: a\n---\n\nname: {b\n---\nname: c\n",
			[]string{"1 1 a", "2 4 yaml: line 4: did not find expected ',' or '}'", "3 6 c"}},
		{"JSON", "a.json", `{"name": "a"}` + "\n\n" + `{"name": "b"}` + "\n[]\n{",
			[]string{"1 1 a", "2 3 b", "3 4 not an object", "4 5 unexpected EOF"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, err := Read(write(t, filepath.Join(t.TempDir(), test.file), test.content))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for m, err := range all {
				what := m.Object["name"]
				if errors.Is(err, ErrNotObject) {
					what = ErrNotObject
				} else if err != nil {
					what = err
				}
				got = append(got, fmt.Sprintf("%d %d %v", m.Document, m.Line, what))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "c.json", "README.md", "sub/d.yaml", ".git/e.yaml", "empty/f.txt"} {
		write(t, filepath.Join(dir, name), "")
	}
	for _, test := range []struct {
		name  string
		below bool
		path  string
		want  string
	}{
		{"directory", false, ".", "a.yml b.yaml c.json"},
		{"tree", true, ".", "a.yml b.yaml c.json sub/d.yaml"},
		{"hidden tree", true, ".git", ".git/e.yaml"},
		{"file", false, "README.md", "README.md"},
		{"file as a tree", true, "README.md", "README.md"},
		{"no manifests", false, "empty", "empty: directory without .yaml, .yml or .json files"},
		{"no manifests in a tree", true, "empty", "empty: directory without .yaml, .yml or .json files"},
		{"missing", false, "missing", "missing: no such file or directory"},
		{"missing tree", true, "missing", "missing: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, err := Files(filepath.Join(dir, test.path), test.below)
			got := strings.Join(files, " ")
			if err != nil {
				got = err.Error()
			}
			if got = strings.ReplaceAll(got, dir+"/", ""); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// FuzzDocuments checks that a file ends, and that lines and numbers of documents only grow.
func FuzzDocuments(f *testing.F) {
	f.Add("a.yaml", "---\na: b\n---\n# c\n")
	f.Add("a.json", "{} []\n{\"a\": 1}")
	f.Fuzz(func(t *testing.T, name, content string) {
		next := yamlDocuments([]byte(content))
		if name == "a.json" {
			next = jsonDocuments([]byte(content))
		}
		for last, n := 0, 0; ; n++ {
			line, _, err := next()
			if errors.Is(err, io.EOF) {
				return
			}
			if line < last || n > len(content) {
				t.Fatalf("document %d at line %d after %d", n, line, last)
			}
			last = line
		}
	})
}
