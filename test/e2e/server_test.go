package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// samplesDir holds the sample CRDs, and below objects an object or two of each.
	samplesDir = "../../config/samples"
	// startTimeout bounds the start of a server, patience every other wait.
	startTimeout = time.Minute
	patience     = 30 * time.Second
)

func TestMain(m *testing.M) {
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// run starts a server with its own data directory and stops it when the test ends. The server must stop cleanly.
func run(t testing.TB, args ...string) *process.Server {
	t.Helper()
	server := start(t, process.Options{DataDir: filepath.Join(t.TempDir(), "data"), Args: args})
	t.Cleanup(func() {
		select {
		case <-server.Done():
			t.Errorf("the server ended during the test\n%s", server.Output())
		default:
			if err := server.Stop(); err != nil {
				t.Errorf("the server did not stop cleanly: %v\n%s", err, server.Output())
			}
		}
	})
	return server
}

// start starts a server that the test ends.
func start(t testing.TB, options process.Options) *process.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	options.Binary, options.Args = programs.Server(), slices.Concat(process.CheckCache, options.Args)
	server, err := process.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Kill()
		if err := server.CacheError(); err != nil {
			t.Error(err)
		}
		if t.Failed() || os.Getenv("CRD_SERVER_LOGS") != "" {
			t.Logf("server output:\n%s", server.Output())
		}
	})
	return server
}

// adminConfig returns the client configuration in the server's admin kubeconfig, without client-side rate limits.
func adminConfig(t testing.TB, server *process.Server) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	return config
}

func dynamicClient(t testing.TB, server *process.Server) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(adminConfig(t, server))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
