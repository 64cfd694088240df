// Command upstream serves k8s.io/apiextensions-apiserver the way crd-server is
// started: the same flags, the same ready line, an admin.kubeconfig in the data
// directory. It is what crd-server is measured against.
//
// It starts upstream's server with its own options and its OpenAPI on, like
// upstream's test server (pkg/cmd/server/testing), but in a process of its own,
// and without that one's waiting. Authentication, authorization and admission
// that would ask a host cluster are off.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
	extensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func main() {
	dir := pflag.String("data-dir", "upstream.data", "directory for the admin kubeconfig")
	address := pflag.String("bind-address", "127.0.0.1", "address to listen on")
	port := pflag.Int("secure-port", 0, "port to listen on; 0 for any free one")
	etcd := pflag.String("etcd-servers", "", "etcd to use")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir, net.JoinHostPort(*address, strconv.Itoa(*port)), *etcd); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, dir, address, etcd string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	config, err := configure(dir, listener, etcd)
	if err != nil {
		return err
	}
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return err
	}
	admin := filepath.Join(dir, "admin.kubeconfig")
	if err := writeKubeconfig(admin, server.GenericAPIServer.LoopbackClientConfig); err != nil {
		return err
	}
	err = server.GenericAPIServer.AddPostStartHook("bench-ready-line", func(genericapiserver.PostStartHookContext) error {
		fmt.Printf("upstream serves: export KUBECONFIG=%s; https://%s\n", admin, listener.Addr())
		return nil
	})
	if err != nil {
		return err
	}
	return server.GenericAPIServer.PrepareRun().RunWithContext(ctx)
}

// configure makes upstream's configuration from its flags.
func configure(dir string, listener net.Listener, etcd string) (*extensionsapiserver.Config, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	host := filepath.Join(dir, "host.kubeconfig")
	if err := writeKubeconfig(host, &rest.Config{Host: startHost()}); err != nil {
		return nil, err
	}
	o := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	flags := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	o.AddFlags(flags)
	err := flags.Parse([]string{
		"--etcd-prefix", "/registry",
		"--etcd-servers", etcd,
		"--cert-dir", dir,
		"--authentication-skip-lookup",
		"--authentication-kubeconfig", host,
		"--authorization-kubeconfig", host,
		"--kubeconfig", host,
		"--enable-priority-and-fairness=false",
		"--disable-admission-plugins", "NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	})
	if err != nil {
		return nil, err
	}
	serving := o.RecommendedOptions.SecureServing
	serving.Listener, serving.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	serving.ExternalAddress = listener.Addr().(*net.TCPAddr).IP
	if err := o.APIEnablement.RuntimeConfig.Set("api/all=true"); err != nil {
		return nil, err
	}
	if err := o.Complete(); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	definitions := utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer(extensionsapiserver.Scheme)
	config.GenericConfig.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	return config, nil
}

// startHost starts what stands for the host cluster that upstream can not be
// without: it has no services, and no other kind is asked for.
func startHost() string {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch query := req.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusBadRequest) // the client lists instead
		case query.Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	})).URL
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
