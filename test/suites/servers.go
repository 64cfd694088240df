package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/crd-server/crd-server/test/programs"
)

// The servers, by the names that the flag -server takes.
const (
	kubeAPIServer = "kube-apiserver"
	crdServer     = "crd-server"
)

// server is one of the two that the suites run against.
type server struct {
	name string
	// assets makes the folder for KUBEBUILDER_ASSETS.
	assets func(ctx context.Context, dir string) error
}

var servers = []server{
	{name: kubeAPIServer, assets: kubernetesAssets},
	{name: crdServer, assets: dropInAssets},
}

// makeAssets makes the folder of a server's programs anew and returns its path.
func (s server) makeAssets(ctx context.Context, build string) (string, error) {
	dir := filepath.Join(build, "assets", s.name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := s.assets(ctx, dir); err != nil {
		return "", fmt.Errorf("programs of %s: %w", s.name, err)
	}
	return dir, nil
}

// kubernetesAssets links the programs that setup-envtest would download: kube-apiserver, etcd and kubectl, which are
// built as they are released.
func kubernetesAssets(_ context.Context, dir string) error {
	for name, build := range map[string]func() (string, error){
		"kube-apiserver": programs.KubeAPIServer,
		"etcd":           programs.EtcdRelease,
		"kubectl":        programs.Kubectl,
	} {
		path, err := build()
		if err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// dropInAssets lets the server under test make the folder, as its users do. It links the kubectl that is first in PATH.
func dropInAssets(ctx context.Context, dir string) error {
	if err := programs.CheckServer(); err != nil {
		return err
	}
	kubectl, err := programs.Kubectl()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, programs.Server(), "envtest", "--dir", dir)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("crd-server envtest: %w\n%s", err, printed)
	}
	return nil
}
