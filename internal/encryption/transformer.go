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

// Options say what is encrypted, and how.
type Options struct {
	// ConfigFile is an EncryptionConfiguration; without one nothing is encrypted.
	ConfigFile string
	// Reload follows the changes of the file.
	Reload bool
}

// AddFlags adds the flags of o, which are kube-apiserver's.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "encryption-provider-config", o.ConfigFile,
		"`File` with an EncryptionConfiguration: which resources are encrypted in etcd, and how.")
	fs.BoolVar(&o.Reload, "encryption-provider-config-automatic-reload", o.Reload, "Follows the changes of --encryption-provider-config.")
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
	prefix string
	source source
	checks []healthz.HealthChecker
	follow func(context.Context)

	// resources are the transformers that were asked for, by group and resource: looking one up in a configuration takes longer.
	resources sync.Map // schema.GroupResource -> value.Transformer
}

// source is what encryptionconfig makes, with or without reloads.
type source interface {
	TransformerForResource(schema.GroupResource) value.Transformer
}

// New reads the configuration; nil if there is none. The connections to key management services end with lifecycle. Keys in
// etcd are those below prefix, such as "/registry"; id names this server in metrics.
func New(lifecycle context.Context, o *Options, prefix, id string) (*Transformer, error) {
	if o.ConfigFile == "" {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(lifecycle)
	config, err := encryptionconfig.LoadEncryptionConfig(ctx, o.ConfigFile, o.Reload, id)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", o.ConfigFile, err)
	}
	t := &Transformer{prefix: prefix + "/", source: encryptionconfig.StaticTransformers(config.Transformers), checks: config.HealthChecks}
	if !o.Reload {
		context.AfterFunc(lifecycle, cancel)
		return t, nil
	}
	// With reloads there is exactly one check, and the dynamic transformers cancel the context of those that they replace.
	dynamic := encryptionconfig.NewDynamicTransformers(config.Transformers, config.HealthChecks[0], cancel, config.KMSCloseGracePeriod)
	t.source, t.checks = dynamic, []healthz.HealthChecker{dynamic}
	t.follow = controller.NewDynamicEncryptionConfiguration("encryption-provider-config-automatic-reload-controller",
		o.ConfigFile, dynamic, config.EncryptionFileContentHash, id).Run
	return t, nil
}

// Run follows the configuration until the context ends.
func (t *Transformer) Run(ctx context.Context) {
	if t.follow != nil {
		t.follow(ctx)
	}
	<-ctx.Done()
}

// Checks say why values could not be encrypted or decrypted now: a key management service does not answer. The names are upstream's.
func (t *Transformer) Checks() []healthz.HealthChecker { return t.checks }

// FromStorage decrypts the value of a key in etcd. It is stale if it is to be written again, to be encrypted by the first provider.
func (t *Transformer) FromStorage(ctx context.Context, data []byte, key string) (plain []byte, stale bool, err error) {
	return t.of(key).TransformFromStorage(ctx, data, value.DefaultContext(key))
}

// ToStorage encrypts the value of a key in etcd. The key belongs to what is authenticated: the value is of no use elsewhere.
func (t *Transformer) ToStorage(ctx context.Context, plain []byte, key string) ([]byte, error) {
	return t.of(key).TransformToStorage(ctx, plain, value.DefaultContext(key))
}

// of returns the transformer of a key, "<prefix>/<group>/<resource>/...".
func (t *Transformer) of(key string) value.Transformer {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, t.prefix), "/")
	resource, _, _ := strings.Cut(rest, "/")
	wanted := schema.GroupResource{Group: group, Resource: resource}
	if known, ok := t.resources.Load(wanted); ok {
		return known.(value.Transformer)
	}
	// Group and resource are parts of the key, and must not hold on to it.
	wanted = schema.GroupResource{Group: strings.Clone(group), Resource: strings.Clone(resource)}
	made, _ := t.resources.LoadOrStore(wanted, t.source.TransformerForResource(wanted))
	return made.(value.Transformer)
}
