package authorization

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/util/filesystem"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// configured is the authorizers of an AuthorizationConfiguration, which may change.
type configured struct {
	file string
	// data is the content of the file that current was made from. Only follow changes it.
	data    []byte
	current atomic.Pointer[authorizer.Authorizer]
}

var _ authorizer.Authorizer = &configured{}

func newConfigured(file string) (*configured, error) {
	c := &configured{file: file}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("--authorization-config %s: %w", file, err)
	}
	return c, nil
}

// Authorize implements authorizer.Authorizer.
func (c *configured) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return (*c.current.Load()).Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (c *configured) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return (*c.current.Load()).ConditionsAwareAuthorize(ctx, a)
}

// EvaluateConditions implements authorizer.Authorizer.
func (c *configured) EvaluateConditions(ctx context.Context, decision authorizer.ConditionsAwareDecision, data authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return (*c.current.Load()).EvaluateConditions(ctx, decision, data)
}

// configPoll is how often the file is read if its file system does not report changes.
const configPoll = time.Minute

// follow reads the file again when it changes, until ctx is done. While the file is invalid, the previous
// configuration stays in force.
func (c *configured) follow(ctx context.Context) {
	filesystem.WatchUntil(ctx, configPoll, c.file, func() {
		if err := c.read(); err != nil {
			klog.FromContext(ctx).Error(err, "Ignoring the changed authorization configuration", "file", c.file)
		}
	}, func(err error) {
		klog.FromContext(ctx).Error(err, "Failed to watch the authorization configuration", "file", c.file)
	})
}

// read replaces the authorizer if the file has changed.
func (c *configured) read() error {
	data, err := os.ReadFile(c.file)
	if err != nil || c.current.Load() != nil && bytes.Equal(data, c.data) {
		return err
	}
	config, err := load.LoadFromData(data)
	if err != nil {
		return err
	}
	errs := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, config,
		sets.New(modes...), sets.New(string(apiserver.TypeWebhook)))
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	var all []union.NamedAuthorizer
	for n := range config.Authorizers {
		one, err := newConfiguredOne(&config.Authorizers[n])
		if err != nil {
			return fmt.Errorf("authorizer %s: %w", config.Authorizers[n].Name, err)
		}
		all = append(all, union.NamedAuthorizer{AuthorizerName: config.Authorizers[n].Name, Authorizer: one})
	}
	made, err := union.New(all...)
	if err != nil {
		return err
	}
	c.data = data
	c.current.Store(&made)
	return nil
}

// newConfiguredOne returns one authorizer of a configuration.
func newConfiguredOne(c *apiserver.AuthorizerConfiguration) (authorizer.Authorizer, error) {
	switch string(c.Type) {
	case ModeAlwaysAllow:
		return alwaysAllow, nil
	case ModeAlwaysDeny:
		return authorizerfactory.NewAlwaysDenyAuthorizer(), nil
	}
	var (
		config *rest.Config
		err    error
	)
	if c.Webhook.ConnectionInfo.Type == apiserver.AuthorizationWebhookConnectionInfoTypeInCluster {
		config, err = rest.InClusterConfig()
	} else {
		config, err = webhookutil.LoadKubeconfig(*c.Webhook.ConnectionInfo.KubeConfigFile, nil)
	}
	if err != nil {
		return nil, err
	}
	config.Timeout = c.Webhook.Timeout.Duration
	allow, deny := c.Webhook.AuthorizedTTL.Duration, c.Webhook.UnauthorizedTTL.Duration
	if !c.Webhook.CacheAuthorizedRequests {
		allow = 0
	}
	if !c.Webhook.CacheUnauthorizedRequests {
		deny = 0
	}
	return newWebhook(config, c.Name, c.Webhook, allow, deny)
}
