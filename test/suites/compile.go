package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/crd-server/crd-server/test/programs"
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

// copyModules copies modules to a folder. The first of them replaces the folder.
func copyModules(ctx context.Context, dir string, modules ...module) error {
	for _, m := range modules {
		// The versions are those of the suites, so no main module may decide about them.
		err := programs.CopyModule(ctx, os.TempDir(), m.path+"@"+m.version, filepath.Join(dir, m.folder))
		if err != nil {
			return err
		}
	}
	return nil
}

// compile builds the test of a package in the project's folder dir. The project's go.mod decides about all versions.
func compile(ctx context.Context, build, dir string, s suite, p testPackage) (testBinary, error) {
	b := testBinary{
		name:   s.qualified(p),
		path:   filepath.Join(build, "bin", fileName(s.qualified(p))+".test"),
		dir:    filepath.Join(dir, filepath.FromSlash(p.folder)),
		ginkgo: p.ginkgo,
	}
	if _, err := programs.Output(ctx, dir, "go", "test", "-c", "-vet=off", "-o", b.path, "./"+p.folder); err != nil {
		return testBinary{}, fmt.Errorf("compile %s: %w", b.name, err)
	}
	return b, nil
}

// fileName makes a file's name of a qualified name.
func fileName(qualified string) string { return strings.ReplaceAll(qualified, "/", "-") }
