// Package metrics registers what /metrics shows: the metrics of apiserver's libraries, of requests to etcd, of the
// storage and of budgets. Begin at Register.
package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"
	handlersmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

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

// buildInfo is the metric of component-base/metrics/prometheus/version. That package takes the version from the
// options of the linker, and only those of a release build are right.
var buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name: "kubernetes_build_info",
	Help: "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, " +
		"build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
	StabilityLevel: metrics.BETA,
}, []string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date",
	"go_version", "compiler", "platform"})

// ShowBuild adds the version to the metrics: that of /version.
func ShowBuild(info version.Info) {
	own()
	buildInfo.WithLabelValues(info.Major, info.Minor, info.GitVersion, info.GitCommit, info.GitTreeState,
		info.BuildDate, info.GoVersion, info.Compiler, info.Platform).Set(1)
}

// Handler returns the handler of /metrics: the metrics of the process, and others. resets lets DELETE reset those of
// the process, as with kube-apiserver.
func Handler(resets bool, others ...prometheus.Gatherer) http.Handler {
	libraries := legacyregistry.HandlerWithReset()
	all := metrics.HandlerFor(append(prometheus.Gatherers{legacyregistry.DefaultGatherer, own()}, others...),
		metrics.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if resets && req.Method == http.MethodDelete {
			own().Reset()
			libraries.ServeHTTP(w, req)
			return
		}
		all.ServeHTTP(w, req)
	})
}
