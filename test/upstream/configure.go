package main

import (
	"net"
	"os"
	"path/filepath"

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

// configure returns upstream's configuration for its flags and further ones.
func configure(dir string, listener net.Listener, etcd string, further []string) (*extensionsapiserver.Config, error) {
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
	err := flags.Parse(append([]string{
		"--etcd-prefix", "/registry",
		"--etcd-servers", etcd,
		"--cert-dir", dir,
		"--authentication-skip-lookup",
		"--authentication-kubeconfig", host,
		"--authorization-kubeconfig", host,
		"--kubeconfig", host,
		"--enable-priority-and-fairness=false",
		"--disable-admission-plugins", "NamespaceLifecycle,MutatingAdmissionWebhook," +
			"ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	}, further...))
	if err != nil {
		return nil, err
	}
	if err := o.ServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
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

// writeKubeconfig writes a kubeconfig for a server.
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
