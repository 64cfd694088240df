package discovery

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

var (
	upstream = flag.Bool("upstream", false, "run TestDifferential, with kube-apiserver")
	update   = flag.Bool("update", false, "with -upstream, write kube-apiserver's answers into testdata")
)

// recorded has the lines of kube-apiserver.
const recorded = "testdata/kube-apiserver.txt"

func TestMain(m *testing.M) {
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "discovery:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestRecorded compares crd-server with what kube-apiserver has said.
func TestRecorded(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(content)), "\n")
	ours := describe(t, startOurs(t))
	if diff := cmp.Diff(want, ours.lines()); diff != "" {
		t.Errorf("kube-apiserver says (-) and crd-server says (+)\n%s\n"+
			"-run Differential -upstream shows what differs in documents", diff)
	}
}

// TestDifferential compares both servers, and the documents of OpenAPI in full.
func TestDifferential(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	program, args, err := programs.ControlPlane("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := describe(t, start(t, program, args...)), describe(t, startOurs(t))
	if *update {
		if err := os.WriteFile(recorded, []byte(strings.Join(theirs.lines(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(theirs.resources, ours.resources); diff != "" {
		t.Errorf("resources: kube-apiserver (-), crd-server (+)\n%s", diff)
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(append(theirs.paths(), ours.paths()...)))) {
		if diff := cmp.Diff(theirs.documents[path], ours.documents[path]); diff != "" {
			t.Errorf("%s: kube-apiserver (-), crd-server (+)\n%s", path, diff)
		}
	}
}

func startOurs(t *testing.T) *rest.Config {
	t.Helper()
	return start(t, programs.Server(), "--builtin-resources=all")
}

// startTimeout bounds how long a server may take to be ready.
const startTimeout = 2 * time.Minute

// start starts a server that ends with the test, and returns the configuration of its administrator.
func start(t *testing.T, binary string, args ...string) *rest.Config {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	server, err := process.Start(ctx, process.Options{
		Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"), Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("%s did not stop cleanly: %v", binary, err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}
