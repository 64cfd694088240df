// Package metrics registers what /metrics shows: the metrics of apiserver's libraries, of requests to etcd, of the
// storage and of budgets. Begin at Register.
package metrics

import (
	handlersmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// Register registers all metrics. Further calls have no effect.
func Register() {
	requestmetrics.Register()
	handlersmetrics.Register()
	flowcontrolmetrics.Register()
	budget.RegisterMetrics()
	etcd.RegisterMetrics()
}
