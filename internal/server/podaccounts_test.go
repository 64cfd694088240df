package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestPodsOfNewNamespaces checks that a pod waits for the account that the controller gives to each namespace.
func TestPodsOfNewNamespaces(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything).root()
	for _, namespace := range []string{"a", "b", "c", "d"} {
		root.createNamespace(namespace)
		got := root.must(http.StatusCreated, "POST", "/api/v1/namespaces/"+namespace+"/pods", podJSON("p"))
		got.expect(t, `"serviceAccountName":"default"`, `"name":"kube-api-access-`, `"name":"kube-root-ca.crt"`)
	}
}

// TestPodsFollowAccounts checks that a pod sees the newest account, and none that was deleted.
func TestPodsFollowAccounts(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything).root()
	merge := []string{"Content-Type", "application/merge-patch+json"}
	for range 20 {
		root.createAccount("robot")
		pod := `{"metadata":{"generateName":"p-"},"spec":{"serviceAccountName":"robot",` +
			`"containers":[{"name":"c","image":"x"}]}}`
		if got := root.must(http.StatusCreated, "POST", podsPath, pod).body; !strings.Contains(got, "kube-api-access-") {
			t.Errorf("no token in %s", got)
		}
		root.must(http.StatusOK, "PATCH", accountsPath+"/robot", `{"automountServiceAccountToken":false}`, merge...)
		if got := root.must(http.StatusCreated, "POST", podsPath, pod).body; strings.Contains(got, "kube-api-access-") {
			t.Errorf("a token in %s", got)
		}
		root.must(http.StatusOK, "DELETE", accountsPath+"/robot", "")
		root.must(http.StatusForbidden, "POST", podsPath, pod).expect(t, `error looking up service account default/robot: `+
			`serviceaccount \"robot\" not found`)
	}
}

// TestDisabledPodPlugins checks that pods can be created without accounts and limits.
func TestDisabledPodPlugins(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything, "--disable-admission-plugins=ServiceAccount,LimitRanger").root()
	root.must(http.StatusCreated, "POST", "/api/v1/namespaces/default/limitranges",
		`{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"1"}}]}}`)
	got := root.must(http.StatusCreated, "POST", podsPath, podJSON("p")).body
	for _, absent := range []string{"limit", "volume", "serviceAccount"} {
		if strings.Contains(got, absent) {
			t.Errorf("%s in %s", absent, got)
		}
	}
}
