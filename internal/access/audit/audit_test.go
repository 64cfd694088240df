package audit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// write writes a file and returns its path.
func write(t *testing.T, content string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const everything = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}`

// record runs the audit that the flags configure, and passes one event to it.
func record(t *testing.T, flags ...string) (accepted bool) {
	t.Helper()
	o := NewOptions()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	if errs := o.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	a, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := a.backend.Run(ctx.Done()); err != nil {
		t.Fatal(err)
	}
	accepted = a.Sink.ProcessEvents(&auditinternal.Event{AuditID: "an-id", Verb: "get",
		Level: auditinternal.LevelMetadata})
	cancel()
	a.backend.Shutdown()
	return accepted
}

func TestLog(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{ModeBatch, ModeBlocking, ModeBlockingStrict} {
		file := filepath.Join(t.TempDir(), "new", "audit.log")
		if !record(t, "--audit-policy-file="+write(t, everything), "--audit-log-path="+file, "--audit-log-mode="+mode) {
			t.Errorf("%s: the event was refused", mode)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var event auditv1.Event
		if err := json.Unmarshal(content, &event); err != nil || event.AuditID != "an-id" || event.Kind != "Event" {
			t.Errorf("%s: logged %s, %v", mode, content, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", mode, info.Mode(), err)
		}
	}
}

// startWebhook starts a webhook that responds with the code. It returns the kubeconfig of the webhook and the bodies of
// its requests.
func startWebhook(t *testing.T, code int) (kubeconfig string, bodies chan auditv1.EventList) {
	t.Helper()
	bodies = make(chan auditv1.EventList, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var events auditv1.EventList
		if err := json.NewDecoder(req.Body).Decode(&events); err != nil {
			t.Error(err)
		}
		bodies <- events
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, bodies
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode     string
		code     int
		accepted bool
	}{
		{ModeBatch, http.StatusOK, true},
		{ModeBlocking, http.StatusOK, true},
		{ModeBlocking, http.StatusForbidden, true}, // the request goes on
		{ModeBlockingStrict, http.StatusOK, true},
		{ModeBlockingStrict, http.StatusForbidden, false},
	} {
		kubeconfig, bodies := startWebhook(t, test.code)
		accepted := record(t, "--audit-policy-file="+write(t, everything), "--audit-webhook-config-file="+kubeconfig,
			"--audit-webhook-mode="+test.mode, "--audit-webhook-initial-backoff=1ms")
		if accepted != test.accepted {
			t.Errorf("%s, %d: accepted is %v", test.mode, test.code, accepted)
		}
		if got := <-bodies; len(got.Items) != 1 || got.Items[0].AuditID != "an-id" {
			t.Errorf("%s, %d: sent %+v", test.mode, test.code, got)
		}
	}
}

func TestWithoutPolicy(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	a, err := New(&o)
	if err != nil || a.Sink != nil || a.Policy != nil {
		t.Errorf("%+v, %v", a, err)
	}
	if err := a.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	o.Log.Path = filepath.Join(t.TempDir(), "log")
	o.PolicyFile = write(t, `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"None","verbs":["get"]},`+
		`{"level":"Request"}]}`)
	a, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]auditinternal.Level{"get": auditinternal.LevelNone,
		"create": auditinternal.LevelRequest} {
		if got := a.Policy.EvaluatePolicyRule(authorizer.AttributesRecord{Verb: verb,
			ResourceRequest: true}); got.Level != want {
			t.Errorf("%s: %s", verb, got.Level)
		}
	}
}

func TestInvalidFlags(t *testing.T) {
	t.Parallel()
	policy := write(t, everything)
	for flags, want := range map[string]string{
		"--audit-log-path=-":    "--audit-log-path and --audit-webhook-config-file need --audit-policy-file",
		"--audit-policy-file=p": "--audit-policy-file needs --audit-log-path or --audit-webhook-config-file",
		"--audit-policy-file=p --audit-log-path=- --audit-log-mode=x": `--audit-log-mode must be ` +
			`one of batch, blocking, blocking-strict, not "x"`,
		"--audit-policy-file=p --audit-log-path=- --audit-log-format=xml": `--audit-log-format must ` +
			`be legacy or json, not "xml"`,
		"--audit-policy-file=p --audit-log-path=- --audit-log-version=v2": `--audit-log-version must ` +
			`be audit.k8s.io/v1, not "v2"`,
		"--audit-policy-file=p --audit-log-path=- --audit-log-maxage=-1": "--audit-log-maxage, " +
			"--audit-log-maxbackup and --audit-log-maxsize must not be negative",
		"--audit-policy-file=p --audit-webhook-config-file=w --audit-webhook-batch-max-size=0": "--audit-webhook-batch-" +
			"buffer-size and --audit-webhook-batch-max-size must be positive",
	} {
		o := NewOptions()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Parse(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		if errs := o.Validate(); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%s: %v", flags, errs)
		}
	}
	for want, change := range map[string]func(*Options){
		"--audit-policy-file":                  func(o *Options) { o.PolicyFile = "/nowhere" },
		"--audit-log-path":                     func(o *Options) { o.Log.Path = policy + "/below/a/file" },
		"--audit-webhook-config-file /nowhere": func(o *Options) { o.Webhook.ConfigFile = "/nowhere" },
	} {
		o := NewOptions()
		o.PolicyFile = policy
		change(&o)
		if _, err := New(&o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
