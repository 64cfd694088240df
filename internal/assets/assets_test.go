package assets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("another program"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// program returns a program of this module: that of the test.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func isSame(t *testing.T, a, b string) bool {
	t.Helper()
	first, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(first, second)
}

// TestMake makes a folder twice, and then for another program and without a kubectl.
func TestMake(t *testing.T) {
	t.Parallel()
	kubectl := write(t, filepath.Join(t.TempDir(), "kubectl"))
	c := Config{Dir: filepath.Join(t.TempDir(), "new", "assets"), Program: program(t), Kubectl: kubectl}
	for range 2 {
		made, err := Make(c)
		if err != nil || len(made) != 3 {
			t.Fatal(made, err)
		}
		for name, target := range map[string]string{"kube-apiserver": c.Program, "etcd": c.Program, "kubectl": kubectl} {
			if !isSame(t, c.path(name), target) {
				t.Errorf("%s is not %s", name, target)
			}
		}
	}
	moved := c
	moved.Program, moved.Kubectl = write(t, filepath.Join(t.TempDir(), "moved")), ""
	made, err := Make(moved)
	if err != nil {
		t.Fatal(err)
	}
	if !isSame(t, c.path("etcd"), moved.Program) || !isSame(t, c.path("kubectl"), kubectl) {
		t.Error("the links are not those to the new program and to the old kubectl")
	}
	if last := made[len(made)-1]; !strings.HasPrefix(last, "there is no kubectl in PATH") {
		t.Errorf("said %q", last)
	}
}

// TestMakeCopies checks that a folder of copies can be moved, and made again.
func TestMakeCopies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "assets")
	for range 2 {
		if made, err := Make(Config{Dir: dir, Program: program(t), Copy: true}); err != nil {
			t.Fatal(made, err)
		}
	}
	moved := Config{Dir: dir + "-moved", Program: program(t)}
	if err := os.Rename(dir, moved.Dir); err != nil {
		t.Fatal(err)
	}
	if !isSame(t, moved.path("etcd"), moved.path("kube-apiserver")) || isSame(t, moved.path("etcd"), moved.Program) {
		t.Error("etcd is not a link to the copy")
	}
	if _, err := Make(moved); err != nil || !isSame(t, moved.path("kube-apiserver"), moved.Program) {
		t.Errorf("the copy was not replaced by a link: %v", err)
	}
}

// TestMakeRefuses checks that files of others stay.
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	c := Config{Dir: t.TempDir(), Program: program(t)}
	theirs := write(t, c.path("etcd"))
	_, err := Make(c)
	if err == nil || !strings.Contains(err.Error(), theirs+" exists and is not crd-server") {
		t.Errorf("got %v", err)
	}
	if content, err := os.ReadFile(theirs); err != nil || string(content) != "another program" {
		t.Errorf("the file was changed: %q %v", content, err)
	}

	kept := Config{Dir: t.TempDir(), Program: program(t), Kubectl: theirs}
	own := write(t, kept.path("kubectl"))
	if _, err := Make(kept); err != nil || isSame(t, own, theirs) {
		t.Errorf("the kubectl in the folder was replaced: %v", err)
	}

	file := write(t, filepath.Join(t.TempDir(), "file"))
	if _, err := Make(Config{Dir: file, Program: program(t)}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as folder: %v", err)
	}
}
