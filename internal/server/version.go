package server

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"
)

// apiVersion is the Kubernetes release whose API is served: the release of the k8s.io libraries in go.mod.
const apiVersion = "v1.37.2"

// documentVersion is the version in OpenAPI documents: the minor release, as in those of kube-apiserver.
const documentVersion = "1.37"

// buildVersion is set by the release build (-ldflags "-X ...internal/server.buildVersion=v0.1.0").
var buildVersion string

// Version returns crd-server's own version.
func Version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "v0.0.0-devel"
}

// VersionLine is what --version prints.
func VersionLine() string {
	return fmt.Sprintf("crd-server %s (serves the API of Kubernetes %s)", Version(), apiVersion)
}

// versionInfo returns the response of /version. Clients compare the Kubernetes version with their own, so
// crd-server's version is in the build metadata, which comparisons ignore.
func versionInfo() version.Info {
	info := version.Info{
		Major: "1", Minor: "37",
		EmulationMajor: "1", EmulationMinor: "37",
		MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
		GitVersion: apiVersion + "+crd-server-" + notMetadata.ReplaceAllString(Version(), "-"),
		GoVersion:  runtime.Version(),
		Compiler:   runtime.Compiler,
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.GitCommit = setting.Value
		case "vcs.time":
			info.BuildDate = setting.Value
		case "vcs.modified":
			info.GitTreeState = map[string]string{"true": "dirty", "false": "clean"}[setting.Value]
		}
	}
	return info
}

// notMetadata matches what semantic versioning does not allow in build metadata.
var notMetadata = regexp.MustCompile(`[^0-9A-Za-z.-]`)

// KubernetesVersionLine is what --version prints when the program acts as one of Kubernetes.
func KubernetesVersionLine() string { return "Kubernetes " + versionInfo().GitVersion }
