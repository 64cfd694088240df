// Command upstream serves k8s.io/apiextensions-apiserver the way crd-server is
// started: the same flags, the same ready line, an admin.kubeconfig in the data
// directory. It is the reference that transcripts are compared with.
//
// It is upstream's own test server (pkg/cmd/server/testing), which switches
// OpenAPI on, on an etcd in this process; authentication, authorization and
// admission that would ask a host cluster are off.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

func main() {
	dir := pflag.String("data-dir", "upstream.data", "directory for etcd's data and the admin kubeconfig")
	pflag.String("bind-address", "", "ignored: always 127.0.0.1")
	pflag.Int("secure-port", 0, "ignored: always a free port")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir, pflag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx is done; flags are upstream's.
func serve(ctx context.Context, dir string, flags []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	etcd, err := startEtcd(filepath.Join(dir, "etcd"))
	if err != nil {
		return err
	}
	defer etcd.Close()

	// Upstream refuses to start without the kubeconfig of a host cluster, even
	// though nothing that is left on asks it.
	host := filepath.Join(dir, "host.kubeconfig")
	if err := writeKubeconfig(host, &rest.Config{Host: "http://127.1.2.3:12345"}); err != nil {
		return err
	}
	server, err := servertesting.StartTestServer(logger{}, nil, append([]string{
		"--etcd-prefix", "/registry",
		"--etcd-servers", "http://" + etcd.Clients[0].Addr().String(),
		"--authentication-skip-lookup",
		"--authentication-kubeconfig", host,
		"--authorization-kubeconfig", host,
		"--kubeconfig", host,
		"--enable-priority-and-fairness=false",
		"--disable-admission-plugins", "NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	}, flags...), nil)
	if err != nil {
		return err
	}
	defer server.TearDownFn()

	admin := filepath.Join(dir, "admin.kubeconfig")
	if err := writeKubeconfig(admin, server.ClientConfig); err != nil {
		return err
	}
	fmt.Printf("upstream is ready: export KUBECONFIG=%s; %s\n", admin, server.ClientConfig.Host)
	<-ctx.Done()
	return nil
}

// startEtcd starts an etcd on a free port.
func startEtcd(dir string) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = dir
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = 10, 100
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	<-etcd.Server.ReadyNotify()
	return etcd, nil
}

// writeKubeconfig writes the way to a server into a file.
func writeKubeconfig(file string, config *rest.Config) error {
	content := clientcmdapi.NewConfig()
	content.Clusters["server"] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		CertificateAuthorityData: config.CAData,
	}
	content.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts["admin"] = &clientcmdapi.Context{Cluster: "server", AuthInfo: "admin"}
	content.CurrentContext = "admin"
	return clientcmd.WriteToFile(*content, file)
}

// logger is what upstream's test server wants of a test.
type logger struct{}

func (logger) Errorf(format string, args ...any) { klog.Errorf(format, args...) }
func (logger) Fatalf(format string, args ...any) { klog.Fatalf(format, args...) }
func (logger) Logf(format string, args ...any)   { klog.V(1).Infof(format, args...) }
