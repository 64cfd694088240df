package server

import (
	"os"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/crd-server/crd-server/internal/identity"
)

// componentName names the server in traces, at /flagz and at /statusz. kube-apiserver calls itself apiserver.
func (o *Options) componentName() string {
	if o.KubeAPIServer {
		return "apiserver"
	}
	return "crd-server"
}

// id names the server in metrics, which show its hash.
func (o *Options) id() string {
	if !o.KubeAPIServer {
		return o.componentName()
	}
	hostname, _ := os.Hostname() // without a name it is the hash of none
	return identity.Of(hostname)
}

// identifies reports whether the server keeps the Lease of a kube-apiserver.
func (o *Options) identifies() bool {
	return o.KubeAPIServer && utilfeature.DefaultFeatureGate.Enabled(features.APIServerIdentity)
}
