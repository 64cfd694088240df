package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	"k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/apiserver/plugin/pkg/audit/truncate"
	"k8s.io/apiserver/plugin/pkg/audit/webhook"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// Audit has what the filters of requests need.
type Audit struct {
	// Sink takes events while Run runs. Policy selects them. Both are nil without a policy.
	Sink   audit.Sink
	Policy audit.PolicyRuleEvaluator

	backend audit.Backend
}

// New reads the policy and opens the log. Errors name the flag that is wrong.
func New(o *Options) (*Audit, error) {
	if o.PolicyFile == "" {
		return &Audit{}, nil
	}
	rules, err := policy.LoadPolicyFromFile(o.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	var backends []audit.Backend
	if o.Log.Path != "" {
		writer, err := o.Log.open()
		if err != nil {
			return nil, fmt.Errorf("--audit-log-path %s: %w", o.Log.Path, err)
		}
		backends = append(backends, o.Log.wrap(log.NewBackend(writer, o.Log.Format, auditv1.SchemeGroupVersion)))
	}
	if o.Webhook.ConfigFile != "" {
		sent, err := o.Webhook.backend()
		if err != nil {
			return nil, fmt.Errorf("--audit-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
		}
		backends = append(backends, o.Webhook.wrap(sent))
	}
	all := audit.Union(backends...)
	return &Audit{Sink: all, Policy: policy.NewPolicyRuleEvaluator(rules), backend: all}, nil
}

// Run writes events until ctx is done, and then the remaining ones.
func (a *Audit) Run(ctx context.Context) error {
	if a.backend == nil {
		return nil
	}
	if err := a.backend.Run(ctx.Done()); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	<-ctx.Done()
	a.backend.Shutdown()
	return nil
}

// open returns the log. Only the owner can read the file.
func (o *LogOptions) open() (io.Writer, error) {
	if o.Path == "-" {
		return os.Stdout, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(o.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil || o.MaxSize == 0 {
		return file, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return &lumberjack.Logger{
		Filename: o.Path, MaxAge: o.MaxAge, MaxBackups: o.MaxBackups, MaxSize: o.MaxSize, Compress: o.Compress,
	}, nil
}

// backend returns a backend that sends events to the webhook.
func (o *WebhookOptions) backend() (audit.Backend, error) {
	config, err := utilwebhook.LoadKubeconfig(o.ConfigFile, nil)
	if err != nil {
		return nil, err
	}
	backoff := utilwebhook.DefaultRetryBackoffWithInitialDelay(o.InitialBackoff)
	sent, err := utilwebhook.NewGenericWebhook(audit.Scheme, audit.Codecs, boundedhttp.Bounded(config),
		[]schema.GroupVersion{auditv1.SchemeGroupVersion}, backoff)
	if err != nil {
		return nil, err
	}
	return webhook.NewDynamicBackend(sent.RestClient, backoff), nil
}

// wrap adds batching and truncation to a backend, as configured.
func (o *backendOptions) wrap(backend audit.Backend) audit.Backend {
	switch o.Mode {
	case ModeBlocking:
		backend = lenient{backend}
	case ModeBatch:
		backend = buffered.NewBackend(backend, o.Batch)
	}
	if o.TruncateEnabled {
		backend = truncate.NewBackend(backend, o.Truncate, auditv1.SchemeGroupVersion)
	}
	return backend
}

// lenient lets requests go on if their events cannot be written.
type lenient struct{ audit.Backend }

func (f lenient) ProcessEvents(events ...*auditinternal.Event) bool {
	f.Backend.ProcessEvents(events...)
	return true
}
