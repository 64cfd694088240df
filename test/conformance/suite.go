package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/crd-server/crd-server/test/programs"
)

const (
	// upstream is the module of the suite; go.mod has its version.
	upstream = "k8s.io/apiextensions-apiserver"
	// replacedFile is the only file of the copy that is replaced.
	replacedFile = "pkg/cmd/server/testing/testserver.go"
)

// leftOut are the tests that emulate Kubernetes 1.31 or 1.32, which a 1.37 server cannot. All other tests run.
var leftOut = regexp.MustCompile(`^(TestFieldSelectorDropFields|TestFieldSelectorDisablement|` +
	`TestRatchetingDropFields)$`)

// Package is one compiled test package of the suite.
type Package struct {
	// Name is its folder below test, such as "integration/conversion".
	Name string
	// Dir is where its tests must run: they open files relative to it.
	Dir string
	// Binary is the compiled test.
	Binary string
	// Tests are its top-level tests, without those left out.
	Tests []string
}

// Suite builds the test packages.
type Suite struct {
	// Folder is that of this command; go.mod is in the one above it.
	Folder string
	// Build is the folder that everything is written to.
	Build string
}

// Prepare copies upstream's module, replaces one file, and compiles the packages. The binary of the suite's root
// package must be named integration.test: a test expects the field manager that follows from it.
func (s Suite) Prepare(ctx context.Context, names []string) ([]*Package, error) {
	source, err := s.copyUpstream(ctx)
	if err != nil {
		return nil, err
	}
	modfile, err := s.writeModfile(ctx, source)
	if err != nil {
		return nil, err
	}
	var packages []*Package
	for _, name := range names {
		p := &Package{
			Name:   name,
			Dir:    filepath.Join(source, "test", name),
			Binary: filepath.Join(s.Build, filepath.Base(name)+".test"),
		}
		if _, err := s.goCommand(ctx, "test", "-c", "-modfile", modfile, "-o", p.Binary, upstream+"/test/"+name); err != nil {
			return nil, fmt.Errorf("compile %s: %w", name, err)
		}
		if p.Tests, err = listTests(ctx, p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// copyUpstream copies the module and replaces the file.
func (s Suite) copyUpstream(ctx context.Context) (string, error) {
	target := filepath.Join(s.Build, "apiextensions-apiserver")
	if err := programs.CopyModule(ctx, s.Folder, upstream, target); err != nil {
		return "", err
	}
	ours, err := os.ReadFile(filepath.Join(s.Folder, "testserver.go.txt"))
	if err != nil {
		return "", err
	}
	replaced := filepath.Join(target, filepath.FromSlash(replacedFile))
	if _, err := os.Stat(replaced); err != nil {
		return "", fmt.Errorf("upstream has moved its test server: %w", err)
	}
	return target, os.WriteFile(replaced, ours, 0o644)
}

// writeModfile writes go.mod and go.sum of this module into the build folder, with upstream replaced by the copy.
func (s Suite) writeModfile(ctx context.Context, source string) (string, error) {
	modfile := filepath.Join(s.Build, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(s.Folder, "..", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(s.Build, name), content, 0o644); err != nil {
			return "", err
		}
	}
	_, err := s.goCommand(ctx, "mod", "edit", "-replace", upstream+"="+source, modfile)
	return modfile, err
}

// goCommand runs go in this folder and returns its output.
func (s Suite) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	return programs.Output(ctx, s.Folder, "go", args...)
}

// listTests returns the top-level tests of a test binary.
func listTests(ctx context.Context, p *Package) ([]string, error) {
	command := exec.CommandContext(ctx, p.Binary, "-test.list", "^Test")
	command.Dir = p.Dir
	printed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", p.Name, err)
	}
	var tests []string
	for line := range bytes.Lines(printed) {
		name := strings.TrimSpace(string(line))
		if strings.HasPrefix(name, "Test") && !leftOut.MatchString(name) {
			tests = append(tests, name)
		}
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("%s has no tests", p.Name)
	}
	return tests, nil
}
