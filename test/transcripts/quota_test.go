package transcripts

import (
	"os"
	"path/filepath"
	"testing"
)

// limited limits what is refused without a quota.
const limited = `{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
{"name": "ResourceQuota", "configuration":
{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [
{"resource": "pods", "matchScopes": [
{"scopeName": "PriorityClass", "operator": "In", "values": ["quota-limited"]}]},
{"resource": "persistentvolumeclaims", "matchContains": ["limited.storageclass.storage.k8s.io/requests.storage"]},
{"apiGroup": "batch", "resource": "cronjobs", "matchContains": ["count/cronjobs.batch"]}]}}]}`

// limitFlags are those of a server with limited resources.
func limitFlags(t *testing.T) (flags []string, auditLog string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admission.json")
	if err := os.WriteFile(file, []byte(limited), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--admission-control-config-file", file}, ""
}
