package server

import (
	handlersmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// registerMetrics makes known what the filters, the handlers and the storage count, under kube-apiserver's names where it has
// the same. It may be called again.
func registerMetrics() {
	requestmetrics.Register()
	handlersmetrics.Register()
	flowcontrolmetrics.Register()
	registerStorage()
	registerEtcd()
}
