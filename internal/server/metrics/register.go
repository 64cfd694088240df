// Package metrics registers what /metrics shows: the metrics of apiserver's libraries, of requests to etcd, of the
// storage and of budgets. Begin at Register.
package metrics

import (
	"sync"

	handlersmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/component-base/metrics"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// Register registers the metrics of the libraries, where they expect it. Further calls have no effect.
func Register() {
	requestmetrics.Register()
	handlersmetrics.Register()
	flowcontrolmetrics.Register()
}

// own returns the registry of this project's metrics, which all servers of the process share. It is not the libraries'
// registry, because another part of the program may have metrics of the same names there.
var own = sync.OnceValue(func() metrics.KubeRegistry {
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(buildInfo)
	registry.MustRegister(budget.Metrics...)
	registry.MustRegister(etcd.Metrics...)
	return registry
})
