package transcripts

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// target is a running server.
type target struct {
	url string
	// client authenticates as the administrator, anonymous not at all.
	client, anonymous *http.Client
	// auditLog is the file of the audit log, if there is one.
	auditLog string
	// log returns what the server has logged.
	log func() string
}

var (
	// customFlags enable what is default upstream, and the comparison of the cache with etcd.
	customFlags  = slices.Concat(process.CustomResourcesOnly, process.CheckCache, []string{"--enable-garbage-collector"})
	builtinFlags = controlled("essential")
	quotaFlags   = append(controlled("all"), storagePlugin)
)

// controlled are the flags of a server that stands alone with a tier of built-in resources and the controllers of the
// reference: what others write in namespaces depends on time.
func controlled(tier string) []string {
	return slices.Concat(process.CheckCache, []string{
		"--builtin-resources=" + tier,
		"--controllers=*,-serviceaccount-controller,-root-ca-certificate-publisher-controller",
	})
}

// uncontrolled are the flags of a server with a tier of built-in resources and no controllers: a list without * selects
// the controllers that it names, here none.
func uncontrolled(tier string) []string {
	return slices.Concat(process.CheckCache,
		[]string{"--builtin-resources=" + tier, "--controllers=-namespace-controller"})
}

// allFlags enable the plugins that are on by default in kube-apiserver.
var allFlags = append(uncontrolled("all"), storagePlugin)

const storagePlugin = "--enable-admission-plugins=StorageObjectInUseProtection"

// withoutAccounts lets pods exist without service accounts.
var withoutAccounts = []string{"--disable-admission-plugins=ServiceAccount"}

// startUpstream starts upstream's server, which is stopped when the test ends.
func startUpstream(t *testing.T, flags ...string) *target {
	t.Helper()
	program, err := programs.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	return startTarget(t, program, flags...)
}

// startControlPlane starts kube-apiserver, with further flags, and the controllers that crd-server has too.
func startControlPlane(t *testing.T, flags ...string) *target {
	t.Helper()
	program, args, err := programs.ControlPlane("kube-apiserver", "kube-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	return startTarget(t, program, slices.Concat(args, []string{"--"}, flags)...)
}

// startAPIServer starts kube-apiserver without controllers.
func startAPIServer(t *testing.T, flags ...string) *target {
	t.Helper()
	program, args, err := programs.ControlPlane("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	return startTarget(t, program, slices.Concat(args, []string{"--"}, flags)...)
}

// startWithAccounts is startAPIServer with the plugin ServiceAccount.
func startWithAccounts(t *testing.T, flags ...string) *target {
	t.Helper()
	program, args, err := programs.ControlPlane("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	return startTarget(t, program, slices.Concat(args, []string{"--service-accounts", "--"}, flags)...)
}

// startTarget starts a server that is stopped when the test ends.
func startTarget(t *testing.T, binary string, flags ...string) *target {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	server, err := process.Start(ctx, process.Options{Binary: binary, DataDir: filepath.Join(t.TempDir(), "data"),
		Args: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("%s did not stop cleanly: %v", binary, err)
		}
		if err := server.CacheError(); err != nil {
			t.Errorf("%v\n%s", err, server.Output())
		}
		if os.Getenv("CRD_SERVER_LOGS") != "" {
			t.Logf("output of %s:\n%s", binary, server.Output())
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return &target{url: server.URL, log: server.Output, client: clientFor(t, config),
		anonymous: clientFor(t, rest.AnonymousClientConfig(config))}
}

// clientFor returns a client that neither follows redirects nor asks for compressed responses.
func clientFor(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}
