package transcripts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// auditPolicy logs the end of every write, with its body: some annotations of admission need that.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Request, verbs: [create, update, patch, delete, deletecollection]}, {level: None}]
`

// webhookIndex counts the webhooks of other transcripts too.
var webhookIndex = regexp.MustCompile(`(_index_)\d+$`)

// auditFlags returns the flags of an audit log, and its file.
func auditFlags(t *testing.T) (flags []string, log string) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--audit-policy-file", policy, "--audit-log-path", log}, log
}

// annotations waits for a request in the audit log, and returns its annotations by admission.
func (p *player) annotations(auditID string) (lines []string) {
	p.t.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(pause) {
		log, err := os.ReadFile(p.target.auditLog)
		if err != nil {
			p.t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			var event struct {
				AuditID     string
				Annotations map[string]string
			}
			if !bytes.Contains(line, []byte(auditID)) || json.Unmarshal(line, &event) != nil || event.AuditID != auditID {
				continue
			}
			for key, value := range event.Annotations {
				if domain, _, _ := strings.Cut(key, "/"); domain != "authorization.k8s.io" && domain != "apiserver.latency.k8s.io" {
					key = webhookIndex.ReplaceAllString(key, "${1}{index}")
					lines = append(lines, "audit "+key+": "+p.symbols.inText(value))
				}
			}
			slices.Sort(lines)
			return lines
		}
	}
	return []string{"not in the audit log"}
}
