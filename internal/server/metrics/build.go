package metrics

import (
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/metrics"
)

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
