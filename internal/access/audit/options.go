package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	"k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/apiserver/plugin/pkg/audit/truncate"
	"k8s.io/apiserver/plugin/pkg/audit/webhook"
)

// The modes of a backend, as kube-apiserver names them.
const (
	// ModeBatch collects events and writes them in the background.
	ModeBatch = "batch"
	// ModeBlocking writes an event before the server continues with the request.
	ModeBlocking = "blocking"
	// ModeBlockingStrict is like ModeBlocking, and refuses a request if its first event cannot be written.
	ModeBlockingStrict = "blocking-strict"
)

var modes = []string{ModeBatch, ModeBlocking, ModeBlockingStrict}

// version is the only version of events.
const version = "audit.k8s.io/v1"

// Options selects events and backends. Flags have the names, meanings and defaults of kube-apiserver's.
type Options struct {
	// PolicyFile selects the events; without one there are none.
	PolicyFile string
	Log        LogOptions
	Webhook    WebhookOptions
}

// LogOptions describes the log file.
type LogOptions struct {
	// Path is the file; - is the standard output.
	Path string
	// MaxAge is in days, MaxSize in megabytes; MaxBackups counts files.
	MaxAge, MaxBackups, MaxSize int
	Compress                    bool
	// Format is json or legacy.
	Format, Version string
	backendOptions
}

// WebhookOptions describes the webhook.
type WebhookOptions struct {
	// ConfigFile is a kubeconfig that names the webhook.
	ConfigFile     string
	InitialBackoff time.Duration
	Version        string
	backendOptions
}

// backendOptions are the options that both backends have.
type backendOptions struct {
	Mode            string
	Batch           buffered.BatchConfig
	TruncateEnabled bool
	Truncate        truncate.Config
}

// NewOptions returns the defaults: no audit.
func NewOptions() Options {
	limits := truncate.Config{MaxBatchSize: 10 << 20, MaxEventSize: 100 << 10}
	return Options{
		Log: LogOptions{
			MaxAge: 366, MaxBackups: 100, MaxSize: 100, Format: log.FormatJson, Version: version,
			backendOptions: backendOptions{
				Mode: ModeBlocking, Truncate: limits,
				Batch: buffered.BatchConfig{BufferSize: 10000, MaxBatchSize: 1},
			},
		},
		Webhook: WebhookOptions{
			InitialBackoff: webhook.DefaultInitialBackoffDelay, Version: version,
			backendOptions: backendOptions{
				Mode: ModeBatch, Truncate: limits,
				Batch: buffered.BatchConfig{
					BufferSize: 10000, MaxBatchSize: 400, MaxBatchWait: 30 * time.Second,
					ThrottleEnable: true, ThrottleQPS: 10, ThrottleBurst: 15, AsyncDelegate: true,
				},
			},
		},
	}
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.PolicyFile, "audit-policy-file", o.PolicyFile,
		"`File` with the audit policy, which selects requests and the amount of detail. Without one nothing is audited.")
	l := &o.Log
	fs.StringVar(&l.Path, "audit-log-path", l.Path, "`File` that events are written to; - is the standard output.")
	fs.IntVar(&l.MaxAge, "audit-log-maxage", l.MaxAge, "Days for which old audit logs are kept; 0: for ever.")
	fs.IntVar(&l.MaxBackups, "audit-log-maxbackup", l.MaxBackups, "Number of old audit logs to keep; 0: all.")
	fs.IntVar(&l.MaxSize, "audit-log-maxsize", l.MaxSize,
		"Size in megabytes at which a new audit log begins; 0: no limit.")
	fs.BoolVar(&l.Compress, "audit-log-compress", l.Compress, "Compresses old audit logs.")
	fs.StringVar(&l.Format, "audit-log-format", l.Format, "Format of the audit log: "+
		strings.Join(log.AllowedFormats, " or ")+".")
	fs.StringVar(&l.Version, "audit-log-version", l.Version, "Version of the events in the audit log.")
	l.addFlags(fs, log.PluginName)
	w := &o.Webhook
	fs.StringVar(&w.ConfigFile, "audit-webhook-config-file", w.ConfigFile,
		"`File` (a kubeconfig) that names the webhook to which events are sent.")
	fs.DurationVar(&w.InitialBackoff, "audit-webhook-initial-backoff", w.InitialBackoff,
		"Time before a failed call of the audit webhook is repeated.")
	fs.StringVar(&w.Version, "audit-webhook-version", w.Version,
		"Version of the events that are sent to the audit webhook.")
	w.addFlags(fs, webhook.PluginName)
}

// addFlags adds the flags of one of the backends, named "log" or "webhook".
func (o *backendOptions) addFlags(fs *pflag.FlagSet, name string) {
	flag := func(part string) string { return "audit-" + name + "-" + part }
	fs.StringVar(&o.Mode, flag("mode"), o.Mode, "When events are written: "+strings.Join(modes, ", ")+
		". The blocking modes delay responses; blocking-strict refuses a request if its event cannot be written.")
	fs.IntVar(&o.Batch.BufferSize, flag("batch-buffer-size"), o.Batch.BufferSize,
		"Events that may wait in mode batch; further ones are lost.")
	fs.IntVar(&o.Batch.MaxBatchSize, flag("batch-max-size"), o.Batch.MaxBatchSize,
		"Maximum number of events in one batch.")
	fs.DurationVar(&o.Batch.MaxBatchWait, flag("batch-max-wait"), o.Batch.MaxBatchWait,
		"Time after which a batch is written even if it is not full.")
	fs.BoolVar(&o.Batch.ThrottleEnable, flag("batch-throttle-enable"), o.Batch.ThrottleEnable,
		"Limits the rate of batches.")
	fs.Float32Var(&o.Batch.ThrottleQPS, flag("batch-throttle-qps"), o.Batch.ThrottleQPS,
		"Average number of batches per second.")
	fs.IntVar(&o.Batch.ThrottleBurst, flag("batch-throttle-burst"), o.Batch.ThrottleBurst,
		"Number of batches that may follow each other immediately.")
	fs.BoolVar(&o.TruncateEnabled, flag("truncate-enabled"), o.TruncateEnabled, "Truncates large events and batches.")
	fs.Int64Var(&o.Truncate.MaxBatchSize, flag("truncate-max-batch-size"), o.Truncate.MaxBatchSize,
		"Maximum size in bytes of a batch; larger ones are split.")
	fs.Int64Var(&o.Truncate.MaxEventSize, flag("truncate-max-event-size"), o.Truncate.MaxEventSize,
		"Maximum size in bytes of an event. Larger ones lose the request and response objects, and are dropped if they are "+
			"still too large.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	if o.Log.Path != "" {
		errs = append(errs, o.Log.validate()...)
	}
	if o.Webhook.ConfigFile != "" {
		errs = append(errs, o.Webhook.backendOptions.validate(webhook.PluginName, o.Webhook.Version)...)
	}
	if o.PolicyFile == "" && (o.Log.Path != "" || o.Webhook.ConfigFile != "") {
		errs = append(errs, fmt.Errorf("--audit-log-path and --audit-webhook-config-file need --audit-policy-file"))
	}
	if o.PolicyFile != "" && o.Log.Path == "" && o.Webhook.ConfigFile == "" {
		errs = append(errs, fmt.Errorf("--audit-policy-file needs --audit-log-path or --audit-webhook-config-file"))
	}
	return errs
}

func (o *LogOptions) validate() []error {
	errs := o.backendOptions.validate(log.PluginName, o.Version)
	if !slices.Contains(log.AllowedFormats, o.Format) {
		errs = append(errs, fmt.Errorf("--audit-log-format must be %s, not %q", strings.Join(log.AllowedFormats, " or "),
			o.Format))
	}
	if o.MaxAge < 0 || o.MaxBackups < 0 || o.MaxSize < 0 {
		errs = append(errs, fmt.Errorf("--audit-log-maxage, --audit-log-maxbackup and --audit-log-maxsize must not be "+
			"negative"))
	}
	return errs
}

func (o *backendOptions) validate(name, events string) (errs []error) {
	flag := func(part string) string { return "--audit-" + name + "-" + part }
	if events != version {
		errs = append(errs, fmt.Errorf("%s must be %s, not %q", flag("version"), version, events))
	}
	switch {
	case !slices.Contains(modes, o.Mode):
		errs = append(errs, fmt.Errorf("%s must be one of %s, not %q", flag("mode"), strings.Join(modes, ", "), o.Mode))
	case o.Mode != ModeBatch:
	case o.Batch.BufferSize <= 0 || o.Batch.MaxBatchSize <= 0:
		errs = append(errs, fmt.Errorf("%s and %s must be positive", flag("batch-buffer-size"), flag("batch-max-size")))
	case o.Batch.ThrottleEnable && (o.Batch.ThrottleQPS <= 0 || o.Batch.ThrottleBurst <= 0):
		errs = append(errs, fmt.Errorf("%s and %s must be positive", flag("batch-throttle-qps"),
			flag("batch-throttle-burst")))
	}
	if o.Truncate.MaxEventSize <= 0 || o.Truncate.MaxBatchSize < o.Truncate.MaxEventSize {
		errs = append(errs, fmt.Errorf("%s must be positive, and %s not less", flag("truncate-max-event-size"),
			flag("truncate-max-batch-size")))
	}
	return errs
}
