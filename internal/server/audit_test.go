package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, nonResourceURLs: ["/readyz*", "/healthz*"]}
- {level: RequestResponse, resources: [{group: shop.example.com}]}
- {level: Metadata}
`

// auditEvent has the fields of an event that the test checks.
type auditEvent struct {
	Level, Stage, Verb, RequestURI, AuditID string
	User                                    struct{ Username string }
	ObjectRef                               struct{ Resource, Name, APIGroup string }
	ResponseStatus                          struct {
		Code    int
		Message string
	}
	RequestObject, ResponseObject map[string]any
	Annotations                   map[string]string
}

// audited returns the events of an audit log.
func audited(t *testing.T, file string) (events []auditEvent) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var event auditEvent
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events = append(events, event)
	}
	return events
}

// TestAudit checks the audit log in each mode. It reads the log after the server has stopped, because no event may be
// lost then.
func TestAudit(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"blocking", "batch"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			testAudit(t, mode)
		})
	}
}

func testAudit(t *testing.T, mode string) {
	file := filepath.Join(t.TempDir(), "logs", "audit.log")
	s := startWhole(t, "--audit-policy-file", written(t, "policy.yaml", auditPolicy), "--audit-log-path", file,
		"--audit-log-mode", mode)
	root := s.root().withTables()
	root.must(http.StatusCreated, "POST", tablesPath, table("a", 4), "Audit-Id", "mine")
	root.must(http.StatusOK, "PATCH", tablesPath+"/a", `{"spec":{"legs":5}}`, "Content-Type",
		"application/merge-patch+json")
	root.must(http.StatusOK, "GET", tablesPath+"?watch=true&timeoutSeconds=1", "")
	s.person("").must(http.StatusUnauthorized, "GET", tablesPath, "")
	s.person("jane").must(http.StatusForbidden, "GET", tablesPath, "")
	root.must(http.StatusBadRequest, "GET", tablesPath+"?timeout=soon", "")
	s.shutDown()

	events := audited(t, file)
	find := func(what string, is func(auditEvent) bool) auditEvent {
		t.Helper()
		n := slices.IndexFunc(events, is)
		if n < 0 {
			t.Fatalf("%s: no event of %s", mode, what)
		}
		return events[n]
	}
	created := find("the creation", func(e auditEvent) bool { return e.AuditID == "mine" })
	if created.Level != "RequestResponse" || created.Stage != "ResponseComplete" || created.Verb != "create" ||
		created.User.Username != "root" ||
		created.ResponseStatus.Code != 201 || created.RequestObject["kind"] != "Table" ||
		created.ResponseObject["metadata"].(map[string]any)["uid"] == nil {
		t.Errorf("%s: the creation is %+v", mode, created)
	}
	changed := find("the change", func(e auditEvent) bool { return e.Verb == "patch" && e.ObjectRef.Name == "a" })
	if changed.RequestObject["spec"] == nil || changed.ResponseObject["kind"] != "Table" {
		t.Errorf("%s: the change is %+v", mode, changed)
	}
	find("the watch's beginning", func(e auditEvent) bool { return e.Verb == "watch" && e.Stage == "ResponseStarted" })
	find("the watch's end", func(e auditEvent) bool { return e.Verb == "watch" && e.Stage == "ResponseComplete" })
	unknown := find("401", func(e auditEvent) bool { return e.ResponseStatus.Code == 401 })
	if unknown.Stage != "ResponseStarted" || unknown.User.Username != "" ||
		unknown.ResponseStatus.Message != "Unauthorized" {
		t.Errorf("%s: 401 is %+v", mode, unknown)
	}
	refused := find("403", func(e auditEvent) bool { return e.ResponseStatus.Code == 403 })
	if refused.User.Username != "jane" || refused.Annotations["authorization.k8s.io/decision"] != "forbid" {
		t.Errorf("%s: 403 is %+v", mode, refused)
	}
	find("400", func(e auditEvent) bool { return e.ResponseStatus.Code == 400 })
	for _, e := range events {
		if e.Stage == "RequestReceived" || strings.HasPrefix(e.RequestURI, "/readyz") {
			t.Errorf("%s: unexpected event %+v", mode, e)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v %v", info, err)
	}
}

// TestMistakesInFiles checks that the error about an unusable file is one line that names the flag.
func TestMistakesInFiles(t *testing.T) {
	t.Parallel()
	wrong := written(t, "wrong", "kind: Nonsense")
	for _, flags := range []string{
		"--encryption-provider-config=%s", "--authorization-config=%s", "--audit-policy-file=%s --audit-log-path=-",
		"--tracing-config-file=%s",
		"--authentication-config=%s", "--token-auth-file=%s.missing",
		"--requestheader-client-ca-file=%s --requestheader-username-headers=X-Remote-User",
		"--authorization-mode=Webhook --authorization-webhook-config-file=%s", "--admission-control-config-file=%s",
	} {
		o := NewOptions()
		args := append([]string{"--data-dir", filepath.Join(t.TempDir(), "data"), "--secure-port=0"},
			strings.Fields(fmt.Sprintf(flags, wrong))...)
		if err := o.Parse(args); err != nil {
			t.Fatal(err)
		}
		flag, _, _ := strings.Cut(flags, "=")
		if strings.Contains(flags, " ") && strings.HasPrefix(flags, "--authorization-mode") {
			flag = "--authorization-webhook-config-file"
		}
		if err := runWith(t.Context(), o, compose); err == nil || !strings.Contains(err.Error(), flag) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", flags, err)
		}
	}
}
