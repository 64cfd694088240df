package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a Go module at a version.
type module struct {
	path, version string
	// folder is where it goes below the first module of its project; "" is the first module itself.
	folder string
}

// testBinary is a compiled test package.
type testBinary struct {
	// name is the qualified name of the package.
	name string
	// path is the compiled test, and dir the folder that it runs in: tests open files relative to it.
	path, dir string
	ginkgo    bool
}

// copyModules copies modules from the module cache to a folder, which is replaced: the tests of an earlier run may have
// written into it. The go command checks the modules against the checksum database when it downloads them.
func copyModules(ctx context.Context, dir string, modules []module) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, m := range modules {
		version := m.path + "@" + m.version
		printed, err := goCommand(ctx, os.TempDir(), "mod", "download", "-json", version)
		if err != nil {
			return fmt.Errorf("download %s: %w", version, err)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(printed, &downloaded); err != nil {
			return fmt.Errorf("download %s: %w", version, err)
		}
		if err := copyTree(downloaded.Dir, filepath.Join(dir, m.folder)); err != nil {
			return fmt.Errorf("copy %s: %w", version, err)
		}
	}
	return nil
}

// copyTree copies files and makes them writable. The module cache is read-only, and os.CopyFS keeps permissions.
func copyTree(from, to string) error {
	root := os.DirFS(from)
	return fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// compile builds the test of a package in the project's folder dir. The project's go.mod decides about all versions.
func compile(ctx context.Context, build, dir string, s suite, p testPackage) (testBinary, error) {
	b := testBinary{
		name:   s.qualified(p),
		path:   filepath.Join(build, "bin", fileName(s.qualified(p))+".test"),
		dir:    filepath.Join(dir, filepath.FromSlash(p.folder)),
		ginkgo: p.ginkgo,
	}
	if _, err := goCommand(ctx, dir, "test", "-c", "-vet=off", "-o", b.path, "./"+p.folder); err != nil {
		return testBinary{}, fmt.Errorf("compile %s: %w", b.name, err)
	}
	return b, nil
}

// fileName makes a file's name of a qualified name.
func fileName(qualified string) string { return strings.ReplaceAll(qualified, "/", "-") }

// goCommand runs the go command in a folder and returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return output(ctx, dir, "go", args...)
}

// output runs a program in a folder and returns what it prints. An error has its messages.
func output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	printed, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, printed,
			failed.Stderr)
	}
	return printed, err
}
