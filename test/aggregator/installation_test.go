package aggregator

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const (
	// samples holds sample CRDs, and below objects an object or two of each.
	samples = "../../config/samples"
	// startTimeout bounds the start of a server, patience every other wait.
	startTimeout = time.Minute
	patience     = time.Minute
)

// installation is a host cluster with crd-server in it.
type installation struct {
	*testing.T
	host *host
	core *core
	// own is the kubeconfig of crd-server at the host.
	own string
	// admin is a client of the host's administrator.
	admin clientset.Interface
	// server is crd-server; options are those that it was started with.
	server  *process.Server
	options process.Options
	// clients issues certificates of users, proxies that of the aggregator, serving those of servers.
	clients, proxies, serving *authority
}

// install starts a host cluster and a crd-server configured for it, whose requests the host authorizes. Both end with
// the test.
func install(t *testing.T) *installation {
	t.Helper()
	i := prepare(t)
	i.options.Args = append(i.options.Args, "--authorization-kubeconfig", i.own)
	i.start()
	return i
}

// prepare starts a host cluster, and configures a crd-server for it that authorizes its requests itself.
func prepare(t *testing.T) *installation {
	t.Helper()
	i := &installation{
		T: t, clients: newAuthority(t, "clients"), proxies: newAuthority(t, "proxies"),
		serving: newAuthority(t, "serving"),
	}
	i.core = newCore(i.clients, i.proxies)
	etcd := cluster.Start(t, 1)
	i.host = startHost(t, hostConfig{
		etcd: etcd.Endpoints(), clients: i.clients, serving: i.serving, proxy: i.proxies.client(t, proxyName),
		behind: i.core,
	})
	i.admin = clientset.NewForConfigOrDie(i.config(i.kubeconfig("admin", "system:masters")))
	i.own = i.kubeconfig("crd-server", "system:masters")
	certificate := i.serving.server(t, serviceName+"."+serviceNamespace+".svc")
	i.options = process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data"),
		Args: slices.Concat(process.CheckCache, []string{
			"--tls-cert-file", certificate.certFile, "--tls-private-key-file", certificate.keyFile,
			"--authentication-kubeconfig", i.own,
			"--aggregator-kubeconfig", i.own,
			"--aggregator-service", serviceNamespace + "/" + serviceName,
			"--aggregator-ca-file", i.serving.file,
		})}
	return i
}

// start starts crd-server, at its previous address if it had one.
func (i *installation) start() {
	i.Helper()
	ctx, cancel := context.WithTimeout(i.Context(), startTimeout)
	defer cancel()
	server, err := process.Start(ctx, i.options)
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() {
		select {
		case <-server.Done(): // the test has ended it
		default:
			if err := server.Stop(); err != nil {
				i.Errorf("crd-server did not stop cleanly: %v", err)
			}
		}
		if err := server.CacheError(); err != nil {
			i.Error(err)
		}
		if i.Failed() || os.Getenv("CRD_SERVER_LOGS") != "" {
			i.Logf("crd-server said:\n%s", server.Output())
		}
	})
	i.server, i.options.Port = server, server.Port()
	backend, err := url.Parse(server.URL)
	if err != nil {
		i.Fatal(err)
	}
	i.host.backend.Store(backend)
}

// kubeconfig writes a kubeconfig of the host for a user with a client certificate.
func (i *installation) kubeconfig(user string, groups ...string) string {
	i.Helper()
	file := filepath.Join(i.TempDir(), user+".kubeconfig")
	certificate := i.clients.client(i.T, user, groups...)
	content := clientcmdapi.NewConfig()
	content.Clusters["host"] = &clientcmdapi.Cluster{Server: i.host.url, CertificateAuthorityData: i.serving.pem()}
	content.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate.cert,
		ClientKeyData: certificate.key}
	content.Contexts["host"] = &clientcmdapi.Context{Cluster: "host", AuthInfo: user}
	content.CurrentContext = "host"
	if err := clientcmd.WriteToFile(*content, file); err != nil {
		i.Fatal(err)
	}
	return file
}

// config returns the client configuration of a kubeconfig, without client-side rate limits.
func (i *installation) config(kubeconfig string) *rest.Config {
	i.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		i.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	return config
}
