// Package programs finds and builds the programs that tests run as processes: the server under test, and the
// etcd, kubectl, upstream's server and Kubernetes' control plane that run beside it.
//
// Tests and make bench run in folders below the root of the project; every path here follows from that. The programs
// are kept in build/programs, so that a later run, or another package, does not link them again.
package programs

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// kubernetesVersion is the version of k8s.io/kubectl in go.mod, as a Kubernetes version.
const kubernetesVersion = "v1.37.2"

// Root returns the absolute path of the project: of the folder with the Makefile that is this one or above it.
func Root() string {
	dir := absolute(".")
	for !exists(filepath.Join(dir, "Makefile")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// Server returns the path of the crd-server under test: the one that CRD_SERVER names, else the one that make build
// builds.
func Server() string {
	if path := os.Getenv("CRD_SERVER"); path != "" {
		return absolute(path)
	}
	return filepath.Join(Root(), "bin", "crd-server")
}

// BuiltWith returns the value of a build flag of the server under test, such as -race; "" if it was built without.
func BuiltWith(flag string) string {
	info, err := buildinfo.ReadFile(Server())
	if err != nil {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == flag {
			return setting.Value
		}
	}
	return ""
}

// CheckServer returns an error if the server under test does not exist.
func CheckServer() error {
	if _, err := os.Stat(Server()); err != nil {
		return fmt.Errorf("no server to test (run make build, or set CRD_SERVER): %w", err)
	}
	return nil
}

// Etcd builds one member of an etcd cluster (test/etcd) and returns its path.
var Etcd = sync.OnceValues(func() (string, error) { return build("etcd", "./etcd") })

// Upstream builds the server of k8s.io/apiextensions-apiserver (test/upstream) and returns its path.
// UPSTREAM_SERVER names one that is already built.
var Upstream = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("UPSTREAM_SERVER"); path != "" {
		return absolute(path), nil
	}
	return build("upstream", "./upstream")
})

// Kubectl builds the kubectl of this Kubernetes version (test/kubectl), with its version stamped in as in a release,
// and returns its path.
var Kubectl = sync.OnceValues(func() (string, error) {
	return build("kubectl", "./kubectl", "-ldflags", versionFlags())
})

// versionFlags are the linker's flags that stamp the Kubernetes version into a program, as in a release.
func versionFlags() string {
	parts := strings.Split(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	const version = "k8s.io/component-base/version."
	return fmt.Sprintf("-s -w -X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s",
		version, kubernetesVersion, version, parts[0], version, parts[1])
}

// ControlPlane builds the program of test/controlplane and programs of Kubernetes for it: kube-apiserver, and
// kube-controller-manager if the controllers have to run. It returns the path of the first, and the arguments that name
// the others. The first build takes several minutes.
func ControlPlane(names ...string) (path string, args []string, err error) {
	if path, err = build("controlplane", "./controlplane"); err != nil {
		return "", nil, err
	}
	for _, name := range names {
		program, err := release(name)
		if err != nil {
			return "", nil, err
		}
		args = append(args, "--"+name, program)
	}
	return path, args, nil
}

// KubeAPIServer builds kube-apiserver as it is released and returns its path. The first build takes several minutes.
var KubeAPIServer = sync.OnceValues(func() (string, error) { return release("kube-apiserver") })

// release builds a program of Kubernetes (test/kubernetes/module), unless it was built before: its folder names its
// version. Its own name is that of its field manager.
func release(name string) (string, error) {
	file := filepath.Join("kubernetes-"+kubernetesVersion, name)
	if path := filepath.Join(Root(), "build", "programs", file); exists(path) {
		return path, nil
	}
	return buildIn("test/kubernetes/module", file, "k8s.io/kubernetes/cmd/"+name, "-trimpath", "-buildvcs=false",
		"-ldflags", versionFlags())
}

// ClusterAPI builds the manager of Cluster API (test/clusterapi/manager) with that project's own versions of
// Kubernetes' libraries, and returns its path. The first build takes several minutes.
var ClusterAPI = sync.OnceValues(func() (string, error) {
	return buildIn("test/clusterapi/manager", "cluster-api", "sigs.k8s.io/cluster-api/core")
})

// Other builds a program of another project, which pages of the documentation run beside the server, and returns its
// path. The first builds take several minutes.
func Other(name string) (string, error) {
	switch name {
	case "kube-controller-manager", "kube-scheduler":
		return release(name)
	case "kwok":
		return buildIn("test/controllers", name, "sigs.k8s.io/kwok/cmd/kwok")
	case "helm":
		return buildIn("test/helm", name, "helm.sh/helm/v4/cmd/helm")
	case "cert-manager-controller", "cert-manager-webhook", "cert-manager-cainjector":
		return buildIn("test/controllers", name, "./"+strings.TrimPrefix(name, "cert-manager-"))
	}
	return "", fmt.Errorf("there is no program %q", name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// EtcdRelease builds etcd as it is released, for the commands of documents, and returns its path.
var EtcdRelease = sync.OnceValues(func() (string, error) { return build("etcd-release", "go.etcd.io/etcd/server/v3") })

// Etcdctl builds etcd's client and returns its path.
var Etcdctl = sync.OnceValues(func() (string, error) { return build("etcdctl", "go.etcd.io/etcd/etcdctl/v3") })

// Etcdutl builds the tool for etcd's files and returns its path.
var Etcdutl = sync.OnceValues(func() (string, error) { return build("etcdutl", "go.etcd.io/etcd/etcdutl/v3") })

// Websites builds the example of docs/controllers.md and returns its path.
var Websites = sync.OnceValues(func() (string, error) { return build("websites", "./docs/websites") })

// build builds a command of this module, or of one that it needs, and returns its path.
func build(name, command string, flags ...string) (string, error) {
	return buildIn("test", name, command, flags...)
}

// buildIn builds a command of the module in a folder. Test packages run at the same time, so the build holds a lock.
func buildIn(folder, name, command string, flags ...string) (string, error) {
	path := filepath.Join(Root(), "build", "programs", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(path + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	compiler := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), command)...)
	compiler.Dir = filepath.Join(Root(), folder)
	if printed, err := compiler.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, printed)
	}
	return path, nil
}

// absolute makes a path independent of the folder that a command runs in.
func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err) // the working directory no longer exists
	}
	return path
}
