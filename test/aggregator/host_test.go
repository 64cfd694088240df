package aggregator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	aggregatoroptions "k8s.io/kube-aggregator/pkg/cmd/server"
	"k8s.io/kube-aggregator/pkg/generated/openapi"
)

// proxyName is the common name of the aggregator's certificate.
const proxyName = "front-proxy-client"

// The Service of crd-server in the host cluster.
const (
	serviceNamespace = "crd-server"
	serviceName      = "crd-server"
)

// host is a running host cluster: the aggregator in front of a core.
type host struct {
	url string
	// backend is the address of the Service.
	backend atomic.Pointer[url.URL]
}

// hostConfig configures a host.
type hostConfig struct {
	etcd             []string
	clients, serving *authority
	proxy            issued
	behind           http.Handler
}

// ResolveEndpoint returns the address of a Service.
func (h *host) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if namespace != serviceNamespace || name != serviceName || h.backend.Load() == nil {
		return nil, fmt.Errorf("there is no service %s/%s:%d", namespace, name, port)
	}
	return h.backend.Load(), nil
}

// startHost starts a host, which ends with the test. It authorizes all requests: crd-server authorizes those that it
// gets.
func startHost(t *testing.T, config hostConfig) *host {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{url: "https://" + listener.Addr().String()}
	generic, err := genericConfig(t, config, listener)
	if err != nil {
		t.Fatal(err)
	}
	extra := apiserver.ExtraConfig{ServiceResolver: h, ProxyClientCertFile: config.proxy.certFile,
		ProxyClientKeyFile: config.proxy.keyFile}
	aggregator := apiserver.Config{GenericConfig: generic, ExtraConfig: extra}
	server, err := aggregator.Complete().NewWithDelegate(behind{genericapiserver.NewEmptyDelegate(), config.behind})
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- prepared.Run(ctx) }() // ends with the context
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// behind serves requests that the aggregator does not.
type behind struct {
	genericapiserver.DelegationTarget
	handler http.Handler
}

// UnprotectedHandler returns the handler behind the aggregator.
func (b behind) UnprotectedHandler() http.Handler { return b.handler }

// genericConfig returns the configuration that k8s.io/kube-aggregator's command makes of its options, without a
// Kubernetes cluster.
func genericConfig(t *testing.T, config hostConfig, listener net.Listener) (*genericapiserver.RecommendedConfig,
	error) {
	o := aggregatoroptions.NewDefaultOptions(io.Discard, io.Discard)
	recommended := o.RecommendedOptions
	recommended.CoreAPI, recommended.Admission, recommended.Authorization = nil, nil, nil
	recommended.Features.EnablePriorityAndFairness = false
	recommended.Etcd.StorageConfig.Transport.ServerList = config.etcd
	recommended.Authentication.ClientCert.ClientCA = config.clients.file
	recommended.Authentication.SkipInClusterLookup = true
	recommended.Authentication.RemoteKubeConfigFileOptional = true
	serving := config.serving.server(t, "host")
	secure := recommended.SecureServing
	secure.Listener, secure.BindPort, secure.BindAddress = listener, listener.Addr().(*net.TCPAddr).Port,
		net.IPv4(127, 0, 0, 1)
	secure.ServerCert.CertKey.CertFile, secure.ServerCert.CertKey.KeyFile = serving.certFile, serving.keyFile

	generic := genericapiserver.NewRecommendedConfig(aggregatorscheme.Codecs)
	generic.SharedInformerFactory = informers.NewSharedInformerFactory(fake.NewClientset(service()...), 0)
	if err := o.Complete(); err != nil {
		return nil, err
	}
	if err := o.ServerRunOptions.ApplyTo(&generic.Config); err != nil {
		return nil, err
	}
	if err := recommended.ApplyTo(generic); err != nil {
		return nil, err
	}
	err := o.APIEnablement.ApplyTo(&generic.Config, apiserver.DefaultAPIResourceConfigSource(), aggregatorscheme.Scheme)
	if err != nil {
		return nil, err
	}
	generic.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	namer := openapinamer.NewDefinitionNamer(aggregatorscheme.Scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	generic.SkipOpenAPIInstallation = true // the aggregator has its own
	return generic, nil
}
