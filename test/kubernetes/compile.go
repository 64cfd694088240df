package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/crd-server/crd-server/test/programs"
)

const (
	// kubernetes is the module of the tests; go.mod of the folder module has its version.
	kubernetes = "k8s.io/kubernetes"
	// application is the package that starts kube-apiserver, and replacement the one in its place.
	application = "k8s.io/kubernetes/cmd/kube-apiserver/app"
	replacement = "k8s.io/kubernetes/cmd/kube-apiserver/process"
)

// testServers are the files of Kubernetes that start a server. Each imports application by its own name.
var testServers = []string{
	"cmd/kube-apiserver/app/testing/testserver.go",
	"test/integration/etcd/server.go",
	"test/integration/framework/test_server.go",
}

// newServer is how the framework makes a server of a configuration that the test may have changed.
const (
	newServer      = "kubeAPIServerConfig.Complete().New("
	newServerThere = "app.New(completedOptions, kubeAPIServerConfig, "
)

// The function of the framework that waits up to ten minutes for the goroutines of a server, and how it begins in the
// copy: the server has none in the test's process, and what its configuration has started there never ends.
const (
	leakCheck      = "func goleakFindRetry(opts ...goleak.Option) error {\n"
	leakCheckThere = leakCheck + "\treturn nil\n"
)

// compiler builds test packages.
type compiler struct {
	// root is the folder of the project, and build the one that everything is written to.
	root, build string
	// inProcess builds the tests as they are: with kube-apiserver in their process.
	inProcess bool
}

// binary is a compiled test package.
type binary struct {
	name string
	// path is the compiled test, and dir the folder that it runs in: tests open files relative to it.
	path, dir string
	// tests are its top-level tests.
	tests []string
}

// source is the folder of the copy.
func (c compiler) source() string { return filepath.Join(c.build, "source") }

// prepare copies Kubernetes and replaces the package that starts a server.
func (c compiler) prepare(ctx context.Context) error {
	if err := programs.CopyModule(ctx, c.module(), kubernetes, c.source()); err != nil {
		return err
	}
	if err := c.copyProcess(); err != nil {
		return err
	}
	for _, name := range testServers {
		if err := c.replace(name, "\t\""+application+"\"\n", "\tapp \""+replacement+"\"\n"); err != nil {
			return err
		}
	}
	if err := c.replace("test/integration/framework/test_server.go", newServer, newServerThere); err != nil {
		return err
	}
	if err := c.replace("test/integration/framework/goleak.go", leakCheck, leakCheckThere); err != nil {
		return err
	}
	if err := c.linkFixtures(ctx); err != nil {
		return err
	}
	if err := c.copyExtensions(ctx); err != nil {
		return err
	}
	return c.writeModfile(ctx)
}

// extensions is the module with the server of custom resources, which some tests start alone. extensionsServer is the
// file that starts it, and extensionsThere the one in its place.
const (
	extensions       = "k8s.io/apiextensions-apiserver"
	extensionsServer = "pkg/cmd/server/testing/testserver.go"
	extensionsThere  = "extensions.go.txt"
)

// extensionsSource is the folder of the copy of that module.
func (c compiler) extensionsSource() string { return filepath.Join(c.build, "extensions") }

func (c compiler) copyExtensions(ctx context.Context) error {
	if err := programs.CopyModule(ctx, c.module(), extensions, c.extensionsSource()); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(c.root, "test", "kubernetes", extensionsThere))
	if err != nil {
		return err
	}
	replaced := filepath.Join(c.extensionsSource(), filepath.FromSlash(extensionsServer))
	if _, err := os.Stat(replaced); err != nil {
		return fmt.Errorf("upstream has moved its test server: %w", err)
	}
	return os.WriteFile(replaced, content, 0o644)
}

// folder returns the folder of a module.
func (c compiler) folder(ctx context.Context, module string) (string, error) {
	printed, err := programs.Output(ctx, c.module(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(string(printed)), err
}

// replace replaces a part of a file of the copy.
func (c compiler) replace(name, old, replaced string) error {
	path := filepath.Join(c.source(), filepath.FromSlash(name))
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("upstream has moved a file: %w", err)
	}
	if bytes.Count(content, []byte(old)) != 1 {
		return fmt.Errorf("upstream has changed %s: it does not have %q once", name, old)
	}
	return os.WriteFile(path, bytes.Replace(content, []byte(old), []byte(replaced), 1), 0o644)
}

// linkFixtures puts the stored objects of earlier releases to where they are in Kubernetes' repository.
func (c compiler) linkFixtures(ctx context.Context) error {
	folder, err := c.folder(ctx, "k8s.io/api")
	if err != nil {
		return err
	}
	staging := filepath.Join(c.source(), "staging", "src", "k8s.io", "api")
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(folder, "testdata"), filepath.Join(staging, "testdata"))
}

// copyProcess copies package process into the copy of Kubernetes.
func (c compiler) copyProcess() error {
	files, err := filepath.Glob(filepath.Join(c.root, "test", "kubernetes", "process", "*.go.txt"))
	if err != nil {
		return err
	}
	target := filepath.Join(c.source(), strings.TrimPrefix(replacement, kubernetes))
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if err := os.WriteFile(filepath.Join(target, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// module is the folder of the module that has the versions of Kubernetes' dependencies.
func (c compiler) module() string { return filepath.Join(c.root, "test", "kubernetes", "module") }

// modfile is a go.mod like that of the module, with Kubernetes replaced by the copy.
func (c compiler) modfile() string { return filepath.Join(c.build, "go.mod") }

func (c compiler) writeModfile(ctx context.Context) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(c.module(), name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.build, name), content, 0o644); err != nil {
			return err
		}
	}
	_, err := programs.Output(ctx, c.module(), "go", "mod", "edit", "-replace", kubernetes+"="+c.source(),
		"-replace", extensions+"="+c.extensionsSource(), c.modfile())
	return err
}

// compile builds a package, unless the last binary is to be used. It has the flags of programs.KubeAPIServer, so that
// most of Kubernetes is compiled once.
func (c compiler) compile(ctx context.Context, name string, reuse bool) (binary, error) {
	folder := "bin"
	if c.inProcess {
		folder = "bin-" + inProcess
	}
	b := binary{
		name: name,
		path: filepath.Join(c.build, folder, fileName(name)+".test"),
		dir:  filepath.Join(c.source(), "test", "integration", filepath.FromSlash(name)),
	}
	if _, err := os.Stat(b.path); err == nil && reuse {
		return b, nil
	}
	args := []string{"test", "-c", "-vet=off", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", b.path}
	if !c.inProcess {
		args = append(args, "-modfile", c.modfile())
	}
	if _, err := programs.Output(ctx, c.module(), "go",
		append(args, kubernetes+"/test/integration/"+name)...); err != nil {
		return b, fmt.Errorf("compile %s: %w", name, err)
	}
	return b, nil
}

// list sets the top-level tests of a binary.
func (b *binary) list(ctx context.Context, env []string) error {
	command := exec.CommandContext(ctx, b.path, "-test.list", "^Test")
	command.Dir, command.Env = b.dir, env
	printed, err := command.Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", b.name, err)
	}
	for line := range strings.Lines(string(printed)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") {
			b.tests = append(b.tests, name)
		}
	}
	return nil
}

// fileName makes a file's name of a package's name.
func fileName(name string) string { return strings.ReplaceAll(name, "/", "-") }
