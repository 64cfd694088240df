package encryption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"
	"k8s.io/apiserver/pkg/storage/value"
)

// Options configures the encryption.
type Options struct {
	// ConfigFile is an EncryptionConfiguration; without one nothing is encrypted.
	ConfigFile string
	// Reload reads the file again when it changes.
	Reload bool
}

// AddFlags adds the flags of o, which are kube-apiserver's.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "encryption-provider-config", o.ConfigFile,
		"`File` with an EncryptionConfiguration: which resources are encrypted in etcd, and how.")
	fs.BoolVar(&o.Reload, "encryption-provider-config-automatic-reload", o.Reload,
		"Reads --encryption-provider-config again when it changes.")
}

// Validate returns every mistake.
func (o *Options) Validate() []error {
	if o.Reload && o.ConfigFile == "" {
		return []error{errors.New("--encryption-provider-config-automatic-reload needs --encryption-provider-config")}
	}
	return nil
}

// Transformer encrypts and decrypts values. It follows its configuration while Run runs.
type Transformer struct {
	resourceOf func(key string) schema.GroupResource
	source     value.ResourceTransformers // with or without reloads
	checks     []healthz.HealthChecker
	follow     func(context.Context)

	// resources caches transformers by group and resource, because a lookup in the configuration takes longer.
	resources sync.Map // schema.GroupResource -> value.Transformer
}

// New reads the configuration; nil without one. The connections to key management services end with lifecycle.
// resourceOf returns the resource of a key in etcd, as the configuration names it. id names this server in metrics.
func New(
	lifecycle context.Context, o *Options, resourceOf func(key string) schema.GroupResource, id string,
) (*Transformer, error) {
	if o.ConfigFile == "" {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(lifecycle)
	config, err := encryptionconfig.LoadEncryptionConfig(ctx, o.ConfigFile, o.Reload, id)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", o.ConfigFile, err)
	}
	t := &Transformer{
		resourceOf: resourceOf, source: encryptionconfig.StaticTransformers(config.Transformers), checks: config.HealthChecks,
	}
	if !o.Reload {
		context.AfterFunc(lifecycle, cancel)
		return t, nil
	}
	// With reloads there is exactly one check. The dynamic transformers cancel the context of those that they replace.
	dynamic := encryptionconfig.NewDynamicTransformers(config.Transformers, config.HealthChecks[0], cancel,
		config.KMSCloseGracePeriod)
	t.source, t.checks = dynamic, []healthz.HealthChecker{dynamic}
	t.follow = controller.NewDynamicEncryptionConfiguration("encryption-provider-config-automatic-reload-controller",
		o.ConfigFile, dynamic, config.EncryptionFileContentHash, id).Run
	return t, nil
}

// Run follows the configuration until ctx is done. A nil transformer has none.
func (t *Transformer) Run(ctx context.Context) {
	if t != nil && t.follow != nil {
		t.follow(ctx)
	}
	<-ctx.Done()
}

// Checks returns health checks that fail while a key management service does not answer. The names are upstream's. A
// nil transformer has none.
func (t *Transformer) Checks() []healthz.HealthChecker {
	if t == nil {
		return nil
	}
	return t.checks
}

// FromStorage decrypts the value of a key in etcd. A stale value should be written again, so that the first provider
// encrypts it.
func (t *Transformer) FromStorage(ctx context.Context, data []byte, key string) (plain []byte, stale bool, err error) {
	return t.of(key).TransformFromStorage(ctx, data, value.DefaultContext(key))
}

// ToStorage encrypts the value of a key in etcd. The key is authenticated too, so the value cannot be moved to
// another key.
func (t *Transformer) ToStorage(ctx context.Context, plain []byte, key string) ([]byte, error) {
	return t.of(key).TransformToStorage(ctx, plain, value.DefaultContext(key))
}

// of returns the transformer of a key.
func (t *Transformer) of(key string) value.Transformer {
	wanted := t.resourceOf(key)
	if known, ok := t.resources.Load(wanted); ok {
		return known.(value.Transformer)
	}
	// The names may be substrings of the key, which must not stay in memory.
	wanted = schema.GroupResource{Group: strings.Clone(wanted.Group), Resource: strings.Clone(wanted.Resource)}
	made, _ := t.resources.LoadOrStore(wanted, t.source.TransformerForResource(wanted))
	return made.(value.Transformer)
}
