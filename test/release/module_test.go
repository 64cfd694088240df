package release

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

const modulePath = "github.com/crd-server/crd-server"

// file is a file of the project by its path. It implements zip.File.
type file struct{ path string }

func (f file) Path() string { return f.path }

func (f file) Lstat() (os.FileInfo, error) { return os.Lstat(projectPath(f.path)) }

func (f file) Open() (io.ReadCloser, error) { return os.Open(projectPath(f.path)) }

func projectPath(path string) string { return filepath.Join(programs.Root(), path) }

func readProject(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(projectPath(path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// nextVersion returns the version that the file VERSION names.
func nextVersion(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(string(readProject(t, "VERSION")))
}

// projectFiles returns the files of the project: those that git has or does not ignore. Without git, it skips the test.
func projectFiles(t *testing.T) (all []zip.File) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z",
		"--cached", "--others", "--exclude-standard", "--deduplicate")
	list.Dir = programs.Root()
	output, err := list.Output()
	if err != nil {
		t.Skipf("git does not know the files of the project: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(output), "\x00"), "\x00") {
		if _, err := (file{path}).Lstat(); err == nil { // git also lists files that were deleted
			all = append(all, file{path})
		}
	}
	return all
}

// TestModule checks what keeps "go install ...@latest" from working: directives that it refuses, files that no module
// may have, and files that belong to another module.
func TestModule(t *testing.T) {
	t.Parallel()
	parsed, err := modfile.Parse("go.mod", readProject(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Module.Mod.Path != modulePath || len(parsed.Replace)+len(parsed.Exclude) > 0 {
		t.Errorf("go.mod is of %s, with %d replace and %d exclude directives",
			parsed.Module.Mod.Path, len(parsed.Replace), len(parsed.Exclude))
	}
	checked, err := zip.CheckFiles(projectFiles(t))
	if err != nil || checked.Err() != nil {
		t.Fatalf("no module can have these files: %v %v", err, checked.Err())
	}
	for _, path := range []string{"LICENSE", "go.sum", "cmd/crd-server/main.go", "cmd/crd-server/default.pgo",
		"internal/builtin/schemas/definitions.zip"} {
		if !slices.Contains(checked.Valid, path) {
			t.Errorf("the module has no %s", path)
		}
	}
	for _, path := range checked.Valid {
		for _, other := range []string{"test/", "bench/", "generate/"} {
			if strings.HasPrefix(path, other) {
				t.Errorf("the module has %s, which belongs to a module of its own", path)
			}
		}
	}
}

// references name the released version, in documents and configuration.
var references = regexp.MustCompile(`(?:crd-server[:@]|rev: |newTag: )(v\d+\.\d+\.\d+)\b`)

// TestVersion checks that the changelog describes the version that the file VERSION names, and that users find this
// version.
func TestVersion(t *testing.T) {
	t.Parallel()
	version := nextVersion(t)
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		t.Errorf("VERSION is %q, want a version such as v0.1.0", version)
	}
	if err := module.CheckPathMajor(version, ""); err != nil {
		t.Errorf("the module has no version %s: %v", version, err)
	}
	changelog := string(readProject(t, "CHANGELOG.md"))
	number := strings.TrimPrefix(version, "v")
	for _, want := range []string{"\n## [Unreleased]\n", "\n## [" + number + "] - 20", "\n[" + number + "]: https://",
		"\n[Unreleased]: https://github.com/crd-server/crd-server/compare/" + version + "...HEAD\n"} {
		if !strings.Contains(changelog, want) {
			t.Errorf("CHANGELOG.md has no %q", want)
		}
	}
	found := 0
	for _, file := range projectFiles(t) {
		if !slices.Contains([]string{".md", ".yaml", ".yml"}, filepath.Ext(file.Path())) {
			continue
		}
		for _, reference := range references.FindAllStringSubmatch(string(readProject(t, file.Path())), -1) {
			if found++; reference[1] != version {
				t.Errorf("%s names %s, want %s", file.Path(), reference[0], version)
			}
		}
	}
	if found == 0 {
		t.Error("nothing names the version")
	}
}

// writeProxy writes the module to a directory, as a proxy serves it.
func writeProxy(t *testing.T, version string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	versions := filepath.Join(dir, modulePath, "@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.Create(&archive, module.Version{Path: modulePath, Version: version}, projectFiles(t)); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version": "` + version + `"}`),
		version + ".mod":  readProject(t, "go.mod"),
		version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
