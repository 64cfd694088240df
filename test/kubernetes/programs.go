package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/crd-server/crd-server/test/programs"
)

// prepare makes the copy of Kubernetes and the programs that tests start.
func (o options) prepare(ctx context.Context, c compiler) (runner, error) {
	server, err := o.program()
	if err != nil {
		return runner{}, err
	}
	folder, err := o.linkEtcd()
	if err != nil {
		return runner{}, err
	}
	if _, err := os.Stat(c.modfile()); err != nil || !o.reuse {
		if err := c.prepare(ctx); err != nil {
			return runner{}, err
		}
	}
	cache, err := programs.Output(ctx, c.module(), "go", "env", "GOMODCACHE")
	if err != nil {
		return runner{}, err
	}
	return runner{
		logs:     filepath.Join(o.build, "logs", o.server),
		env:      environment(folder, strings.TrimSpace(string(cache)), server),
		parallel: o.parallel, timeout: o.timeout,
	}, nil
}

// program returns the program of the server; "" if it runs in the process of the tests.
func (o options) program() (string, error) {
	switch o.server {
	case crdServer:
		return programs.Server(), programs.CheckServer()
	case kubeAPIServer:
		return programs.KubeAPIServer()
	case inProcess:
		return "", nil
	}
	return "", fmt.Errorf("flag -server: %q is none of %s, %s and %s", o.server, crdServer, kubeAPIServer, inProcess)
}

// linkEtcd returns a folder with etcd under that name.
func (o options) linkEtcd() (string, error) {
	etcd, err := programs.EtcdRelease()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(o.build, "programs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	link := filepath.Join(folder, "etcd")
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return folder, os.Symlink(etcd, link)
}

// environment is that of this process, with etcd in PATH and what upstream's tests need to find their files: they were
// compiled with -trimpath. The etcd does not sync, because it does not have to survive.
func environment(programs, moduleCache, server string) []string {
	env := append(os.Environ(),
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"ETCD_UNSAFE_NO_FSYNC=true",
		"TEST_SRCDIR="+moduleCache, "TEST_WORKSPACE=.",
		"CRD_SERVER="+server)
	return deleteNames(env, "KUBECONFIG", "KUBE_INTEGRATION_ETCD_URL")
}

func deleteNames(env []string, names ...string) []string {
	var kept []string
	for _, variable := range env {
		drop := false
		for _, name := range names {
			drop = drop || strings.HasPrefix(variable, name+"=")
		}
		if !drop {
			kept = append(kept, variable)
		}
	}
	return kept
}
