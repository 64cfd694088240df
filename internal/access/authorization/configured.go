package authorization

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics"
	"k8s.io/apiserver/pkg/util/filesystem"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// configured is the authorizers of an AuthorizationConfiguration, which may change.
type configured struct {
	config *Config
	file   string
	// data is the content of the file that current was made from. Only follow changes it.
	data    []byte
	current atomic.Pointer[decider]
}

var (
	_ authorizer.Authorizer   = &configured{}
	_ authorizer.RuleResolver = &configured{}
)

func newConfigured(config *Config) (*configured, error) {
	metrics.RegisterMetrics()
	c := &configured{config: config, file: config.Options.ConfigFile}
	if _, err := c.read(); err != nil {
		return nil, fmt.Errorf("--authorization-config %s: %w", c.file, err)
	}
	metrics.RecordAuthorizationConfigLastConfigInfo(config.ID, string(c.data))
	return c, nil
}

// Authorize implements authorizer.Authorizer.
func (c *configured) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return c.current.Load().Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (c *configured) ConditionsAwareAuthorize(
	ctx context.Context, a authorizer.Attributes,
) authorizer.ConditionsAwareDecision {
	return c.current.Load().ConditionsAwareAuthorize(ctx, a)
}

// EvaluateConditions implements authorizer.Authorizer.
func (c *configured) EvaluateConditions(
	ctx context.Context, decision authorizer.ConditionsAwareDecision, data authorizer.ConditionsData,
) (authorizer.Decision, string, error) {
	return c.current.Load().EvaluateConditions(ctx, decision, data)
}

// RulesFor implements authorizer.RuleResolver.
func (c *configured) RulesFor(ctx context.Context, u user.Info, namespace string) (
	[]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return c.current.Load().RulesFor(ctx, u, namespace)
}

// configPoll is how often the file is read if its file system does not report changes.
const configPoll = time.Minute

// follow reads the file again when it changes, until ctx is done. While the file is invalid, the previous
// configuration stays in force.
func (c *configured) follow(ctx context.Context) {
	filesystem.WatchUntil(ctx, configPoll, c.file, func() {
		switch changed, err := c.read(); {
		case err != nil:
			metrics.RecordAuthorizationConfigAutomaticReloadFailure(c.config.ID)
			klog.FromContext(ctx).Error(err, "Ignoring the changed authorization configuration", "file", c.file)
		case changed:
			metrics.RecordAuthorizationConfigAutomaticReloadSuccess(c.config.ID, string(c.data))
		}
	}, func(err error) {
		klog.FromContext(ctx).Error(err, "Failed to watch the authorization configuration", "file", c.file)
	})
}

// read replaces the authorizer if the file has changed.
func (c *configured) read() (changed bool, err error) {
	data, err := os.ReadFile(c.file)
	if err != nil || c.current.Load() != nil && bytes.Equal(data, c.data) {
		return false, err
	}
	decides, err := c.parse(data)
	if err != nil {
		return false, err
	}
	c.data = data
	c.current.Store(decides)
	return true, nil
}

// parse returns the authorizers of a configuration.
func (c *configured) parse(data []byte) (*decider, error) {
	config, err := load.LoadFromData(data)
	if err != nil {
		return nil, err
	}
	errs := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, config,
		sets.New(modes...), sets.New(string(apiserver.TypeWebhook)))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var all chain
	if !slices.ContainsFunc(config.Authorizers, func(
		a apiserver.AuthorizerConfiguration) bool {
		return a.Type == ModeRBAC
	}) {
		if all, err = c.config.Options.withoutRoles(); err != nil {
			return nil, err
		}
	}
	for n := range config.Authorizers {
		configured := &config.Authorizers[n]
		one := link{name: configured.Name}
		if configured.Type == apiserver.TypeWebhook {
			one.authorizer, err = newConfiguredWebhook(configured)
			one.rules = listing(one.authorizer)
		} else {
			err = c.config.simple(string(configured.Type), &one)
		}
		if err != nil {
			return nil, fmt.Errorf("authorizer %s: %w", configured.Name, err)
		}
		all = append(all, one.measured(string(configured.Type)))
	}
	return all.decider()
}

// newConfiguredWebhook returns a webhook of a configuration.
func newConfiguredWebhook(c *apiserver.AuthorizerConfiguration) (authorizer.Authorizer, error) {
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
