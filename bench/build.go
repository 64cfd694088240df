package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/crd-server/crd-server/test/programs"
)

// Programs are the paths of the built programs.
type Programs struct {
	Ours, Upstream, Etcd, Bare string
	// Kubernetes starts kube-apiserver with the arguments. It is built for the parts that need it only.
	Kubernetes     string
	KubernetesArgs []string
}

// buildKubernetes builds kube-apiserver, unless it was built before.
func (p *Programs) buildKubernetes() (err error) {
	p.Kubernetes, p.KubernetesArgs, err = programs.ControlPlane("kube-apiserver")
	return err
}

// build builds everything that is measured into dir. It is run in this module's folder.
func build(ctx context.Context, dir string) (Programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Programs{}, err
	}
	p := Programs{
		Ours:     filepath.Join(dir, "crd-server"),
		Upstream: filepath.Join(dir, "upstream"),
		Etcd:     filepath.Join(dir, "etcd"),
		Bare:     filepath.Join(dir, "bare"),
	}
	for _, program := range []struct{ output, folder, source string }{
		{p.Ours, "..", "./cmd/crd-server"},
		{p.Upstream, filepath.Join("..", "test"), "./upstream"},
		{p.Etcd, filepath.Join("..", "test"), "./etcd"},
		{p.Bare, ".", "./bare"},
	} {
		command := exec.CommandContext(ctx, "go", "build", "-o", program.output, program.source)
		command.Dir = program.folder
		command.Env = append(os.Environ(), "CGO_ENABLED=0") // as they are released
		command.Stderr = os.Stderr
		if err := command.Run(); err != nil {
			return Programs{}, fmt.Errorf("build %s: %w", program.source, err)
		}
	}
	return p, nil
}
