package clusterapi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

var (
	selected = flag.Bool("cluster-api", false, "run the test; it builds Cluster API's manager first")
	upstream = flag.Bool("upstream", false, "test kube-apiserver instead of crd-server")
)

const (
	// rotations is how often the authority and the certificate are replaced.
	rotations = 4
	// clients is how many clients write and read at the same time.
	clients = 6
	// startTimeout bounds the start of a server, patience every other wait.
	startTimeout = 2 * time.Minute
	patience     = time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "clusterapi:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestRotation replaces authorities and certificates of Cluster API's webhooks while clients write and read. No valid
// request may fail and no invalid one may pass, but those may fail that overlap a restart of the manager.
func TestRotation(t *testing.T) {
	if !*selected {
		t.Skip("it needs -cluster-api, because Cluster API takes minutes to compile")
	}
	ports := freePorts(t)
	server := startServer(t, ports)
	config := adminConfig(t, server)
	installed := install(t, server.Kubeconfig, ports)
	first := newAuthority(t, "first")
	webhooks := &rotation{T: t, client: dynamic.NewForConfigOrDie(config), ports: ports, certificates: t.TempDir()}
	webhooks.write(first.issue(t))
	webhooks.trust(first)
	manager := startManager(t, config, ports, webhooks.certificates)

	load := startTraffic(t, config)
	for i := range rotations {
		next := newAuthority(t, fmt.Sprint("authority ", i))
		webhooks.replace(next, load)
		installed.apply() // does not own the bundles, so it must not remove them
		if i == rotations/2 {
			load.whileDown(manager.restart)
		}
		load.await()
	}
	load.stop()
	webhooks.checkOwners()
	webhooks.checkStranger()
}

// startServer starts crd-server, or kube-apiserver.
func startServer(t *testing.T, ports ports) *process.Server {
	t.Helper()
	rule := fmt.Sprintf("%s/%s:%d=https://127.0.0.1:%[3]d", namespace, service, ports.webhooks)
	program, args := programs.Server(), append([]string{"--service-resolution", rule}, process.CheckCache...)
	if *upstream {
		var err error
		if program, args, err = programs.ControlPlane("kube-apiserver"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	server, err := process.Start(ctx, process.Options{
		Binary: program, DataDir: filepath.Join(t.TempDir(), "data"), Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
		if err := server.CacheError(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("server output:\n%s", server.Output())
		}
	})
	return server
}

// adminConfig returns the configuration of a client without limits.
func adminConfig(t *testing.T, server *process.Server) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // the old versions are deprecated
	return config
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			last = check(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}

// contains returns an error unless err has the message.
func contains(err error, message string) error {
	if err == nil || !strings.Contains(err.Error(), message) {
		return fmt.Errorf("the error is %v, not %q", err, message)
	}
	return nil
}
