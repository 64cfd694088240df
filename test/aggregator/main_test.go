package aggregator

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// The programs beside crd-server: one member of etcd, and the kubectl of this Kubernetes version.
var etcdBinary, kubectlBinary string

// TestMain builds the programs.
func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Verbose() { // the aggregator logs what it meets, servers that are away among it
		klog.SetLogger(logr.Discard())
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "aggregator:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	if _, err := os.Stat(binary()); err != nil {
		return 0, fmt.Errorf("no server to test (make build): %w", err)
	}
	built := absolute("../../build/aggregator") // where they stay, so that they are not linked again
	etcdBinary, kubectlBinary = filepath.Join(built, "etcd"), filepath.Join(built, "kubectl")
	if err := cluster.Build(context.Background(), filepath.Join("..", "etcd"), etcdBinary); err != nil {
		return 0, err
	}
	build := exec.Command("go", "build", "-o", kubectlBinary, "./kubectl")
	build.Dir, build.Stderr = filepath.Join("..", "e2e"), os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build kubectl: %w", err)
	}
	return m.Run(), nil
}

// binary is the path of the server to test.
func binary() string {
	if path := os.Getenv("CRD_SERVER"); path != "" {
		return absolute(path)
	}
	return absolute("../../bin/crd-server")
}

// absolute makes a path independent of the folder a command runs in.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}
