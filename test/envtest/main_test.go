package envtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

var upstream = flag.Bool("upstream", false, "run the tests with kube-apiserver and etcd, and compare their flags")

// assets is the folder of programs under test; oracle is that of Kubernetes' programs, with -upstream.
var assets, oracle string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "envtest-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if assets, err = makeAssets(filepath.Join(dir, "assets")); err != nil {
		return fail(err)
	}
	if *upstream {
		if oracle, err = collectOracle(filepath.Join(dir, "oracle")); err != nil {
			return fail(err)
		}
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// makeAssets makes a folder of the server's own programs, with a link to the kubectl of the tests.
func makeAssets(dir string) (string, error) {
	if err := programs.CheckServer(); err != nil {
		return "", err
	}
	kubectl, err := programs.Kubectl()
	if err != nil {
		return "", err
	}
	command := exec.Command(programs.Server(), "envtest", "--dir", dir)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl))
	if printed, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("crd-server envtest: %w: %s", err, printed)
	}
	return dir, nil
}

// collectOracle makes a folder of the programs of Kubernetes and etcd.
func collectOracle(dir string) (string, error) {
	apiserver, err := programs.KubeAPIServer()
	if err != nil {
		return "", err
	}
	etcd, err := programs.EtcdRelease()
	if err != nil {
		return "", err
	}
	kubectl, err := programs.Kubectl()
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for name, path := range map[string]string{"kube-apiserver": apiserver, "etcd": etcd, "kubectl": kubectl} {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// underTest returns the folder of the programs under test.
func underTest() string {
	if *upstream {
		return oracle
	}
	return assets
}
