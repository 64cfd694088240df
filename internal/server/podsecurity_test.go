package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secured returns a namespace with labels pod-security.kubernetes.io/MODE: LEVEL.
func secured(name, mode, level string) string {
	return `{"metadata":{"name":"` + name + `","labels":{"pod-security.kubernetes.io/` + mode + `":"` + level + `"}}}`
}

const (
	violation = `PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)`
	onNetwork = `{"metadata":{"generateName":"p-"},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x"}]}}`
	onNode    = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":` +
		`{"a":"b"}},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x"}]}}}}`
)

// warns fails the test unless the answer has a warning with a text.
func (a answer) warns(t *testing.T, text string) {
	t.Helper()
	if got := strings.Join(a.header.Values("Warning"), "\n"); !strings.Contains(got, text) {
		t.Errorf("warnings: %s\nwant: %s", got, text)
	}
}

// TestPodSecurity checks that labels of namespaces refuse pods, warn about templates, and annotate the audit log.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	root := startWhole(t, everything, "--audit-log-path", log, "--audit-policy-file",
		written(t, "policy.yaml", `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}`)).root()
	const namespaces = "/api/v1/namespaces"
	root.must(http.StatusUnprocessableEntity, "POST", namespaces, secured("odd", "enforce", "odd")).
		expect(t, `must be one of privileged, baseline, restricted`)

	root.must(http.StatusCreated, "POST", namespaces, secured("strict", "enforce", "baseline"))
	refused := root.must(http.StatusForbidden, "POST", namespaces+"/strict/pods", onNetwork)
	refused.expect(t, "violates "+violation, `pods \"p-`)
	root.must(http.StatusCreated, "POST", namespaces+"/strict/pods", podJSON("fine"))
	root.must(http.StatusCreated, "POST", "/apis/apps/v1/namespaces/strict/deployments", onNode)
	root.must(http.StatusForbidden, "PATCH", namespaces+"/strict/pods/fine/ephemeralcontainers",
		`{"spec":{"ephemeralContainers":[{"name":"e","image":"x","securityContext":{"privileged":true}}]}}`,
		"Content-Type", "application/strategic-merge-patch+json").expect(t, "must not set securityContext.privileged=true")

	root.must(http.StatusCreated, "POST", namespaces, secured("warned", "warn", "baseline"))
	root.must(http.StatusCreated, "POST", namespaces+"/warned/pods", onNetwork).warns(t, "would violate "+violation)
	root.must(http.StatusCreated, "POST", "/apis/apps/v1/namespaces/warned/deployments", onNode).
		warns(t, "would violate "+violation)
	root.must(http.StatusOK, "PATCH", namespaces+"/warned", secured("warned", "enforce", "baseline"),
		"Content-Type", "application/merge-patch+json").warns(t, `existing pods in namespace \"warned\" violate the new`)

	root.must(http.StatusOK, "GET", "/metrics", "").
		expect(t, `pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline"`)
	written, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"pod-security.kubernetes.io/enforce-policy":"baseline:latest"`; !strings.Contains(string(written), want) {
		t.Errorf("the audit log has no %s", want)
	}
}

// TestPodSecurityConfiguration checks the default level and the exemptions of a configuration.
func TestPodSecurityConfiguration(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything, "--admission-control-config-file", written(t, "admission.yaml", `{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
		"plugins": [{"name": "PodSecurity", "configuration": {
			"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
			"defaults": {"enforce": "baseline"}, "exemptions": {"namespaces": ["free"]}}}]}`)).root()
	root.createNamespace("free")
	root.must(http.StatusCreated, "POST", "/api/v1/namespaces/free/pods", onNetwork)
	root.must(http.StatusForbidden, "POST", podsPath, onNetwork).expect(t, violation)
}

// TestPodSecurityDisabled checks that the plugin can be disabled.
func TestPodSecurityDisabled(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything, "--disable-admission-plugins=PodSecurity").root()
	root.must(http.StatusCreated, "POST", "/api/v1/namespaces", secured("strict", "enforce", "restricted"))
	root.must(http.StatusCreated, "POST", "/api/v1/namespaces/strict/pods", onNetwork)
}

// TestWithoutCoreResources starts a server of all kinds but those that plugins and roles read.
func TestWithoutCoreResources(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything, "--runtime-config", "api/v1=false").root()
	root.must(http.StatusNotFound, "GET", "/api/v1/namespaces", "")
	root.must(http.StatusOK, "GET", "/apis/resource.k8s.io/v1/resourceclaims", "")
	root.must(http.StatusOK, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler", "")
}
