package authorization

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	authorizationmetrics "k8s.io/apiserver/pkg/authorization/metrics"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	webhookmetrics "k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/access/hostcluster"
	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// Config is what an Authorizer needs.
type Config struct {
	Options *Options
	// First decides before the configured authorizers; it may be nil.
	First authorizer.Authorizer
	// Roles are those of the mode RBAC; nil if the server has none.
	Roles *rbac.Index
	// ID names the server in metrics.
	ID string
}

// Authorizer asks the configured authorizers in order. It follows its configuration file while Run runs.
type Authorizer struct {
	authorizer.Authorizer
	authorizer.RuleResolver
	// follow follows the configuration file; nil without one.
	follow func(context.Context)
}

// New makes an authorizer. Errors name the flag that is wrong.
func New(config Config) (*Authorizer, error) {
	authorizationmetrics.RegisterMetrics()
	o, a := config.Options, &Authorizer{}
	decide, err := o.always()
	if err != nil {
		return nil, err
	}
	if config.First != nil {
		decide = append(decide, link{name: "embedding", authorizer: config.First, rules: listing(config.First)})
	}
	if o.ConfigFile != "" {
		configured, err := newConfigured(&config)
		if err != nil {
			return nil, err
		}
		a.follow = configured.follow
		decide = append(decide, link{name: "configuration", authorizer: configured, rules: configured})
	} else {
		modes, err := config.modes()
		if err != nil {
			return nil, err
		}
		decide = append(decide, modes...)
	}
	if o.Kubeconfig != "" {
		host, err := o.host()
		if err != nil {
			return nil, fmt.Errorf("--authorization-kubeconfig %s: %w", o.Kubeconfig, err)
		}
		decide = append(decide, link{name: "host", authorizer: host, rules: listing(host)})
	}
	all, err := decide.decider()
	if err != nil {
		return nil, err
	}
	a.Authorizer, a.RuleResolver = all.Authorizer, all.RuleResolver
	return a, nil
}

// Run follows the configuration file until ctx is done.
func (a *Authorizer) Run(ctx context.Context) {
	if a.follow != nil {
		a.follow(ctx)
	}
	<-ctx.Done()
}

// modes returns the authorizers of the modes, in order.
func (c *Config) modes() (decide chain, err error) {
	o := c.Options
	if !slices.Contains(o.Modes, ModeRBAC) {
		if decide, err = o.withoutRoles(); err != nil {
			return nil, err
		}
	}
	for _, mode := range o.Modes {
		one := link{name: strings.ToLower(mode)} // as upstream; reasons begin with it
		if mode == ModeWebhook {
			one.name = defaultWebhook
			err = o.webhook(&one)
		} else {
			err = c.simple(mode, &one)
		}
		if err != nil {
			return nil, err
		}
		decide = append(decide, one.measured(mode))
	}
	return decide, nil
}

// simple sets the authorizer of a mode that needs no configuration.
func (c *Config) simple(mode string, l *link) error {
	switch mode {
	case ModeAlwaysAllow:
		l.authorizer, l.rules = alwaysAllow, rulesFunc(alwaysAllowRules)
	case ModeAlwaysDeny:
		l.authorizer = authorizerfactory.NewAlwaysDenyAuthorizer()
	case ModeNode:
		l.authorizer = authorizer.AuthorizerFunc(noOpinion)
	case ModeRBAC:
		if c.Roles == nil {
			return errors.New("the mode RBAC needs --builtin-resources: without them there are no roles")
		}
		roles := rbac.NewAuthorizer(c.Roles)
		l.authorizer, l.rules = roles, roles
	default:
		return fmt.Errorf("unknown authorization mode %q", mode)
	}
	return nil
}

func noOpinion(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// defaultWebhook is upstream's name for the webhook of the flags.
const defaultWebhook = "default"

// webhook sets the authorizer of the mode Webhook.
func (o *Options) webhook(l *link) error {
	config, err := webhookutil.LoadKubeconfig(o.WebhookConfigFile, nil)
	if err == nil {
		l.authorizer, err = newWebhook(config, defaultWebhook, &apiserver.WebhookConfiguration{
			SubjectAccessReviewVersion: o.WebhookVersion,
		}, o.AllowTTL, o.DenyTTL)
	}
	if err != nil {
		return fmt.Errorf("--authorization-webhook-config-file %s: %w", o.WebhookConfigFile, err)
	}
	l.rules = listing(l.authorizer)
	return nil
}

// listing returns an authorizer as one that lists rules. Webhooks say that they cannot.
func listing(a authorizer.Authorizer) authorizer.RuleResolver {
	rules, _ := a.(authorizer.RuleResolver)
	return rules
}

// host returns an authorizer that asks the host cluster.
func (o *Options) host() (authorizer.Authorizer, error) {
	client, err := hostcluster.NewClient(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	authorizerfactory.RegisterMetrics()
	backoff := hostcluster.RetryBackoff()
	return authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             o.AllowTTL,
		DenyCacheTTL:              o.DenyTTL,
		WebhookRetryBackoff:       &backoff,
	}.New()
}

// newWebhook returns an authorizer that asks a webhook.
func newWebhook(
	config *rest.Config, name string, c *apiserver.WebhookConfiguration, allow, deny time.Duration,
) (authorizer.Authorizer, error) {
	onError := authorizer.DecisionNoOpinion
	if c.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	return webhook.New(boundedhttp.Bounded(config), c.SubjectAccessReviewVersion, allow, deny, hostcluster.RetryBackoff(),
		onError,
		c.MatchConditions, name, newWebhookMetrics(), authorizationcel.NewDefaultCompiler())
}

// webhookMetrics are the metrics that kube-apiserver has of webhooks: calls and conditions, not requests.
type webhookMetrics struct {
	webhookmetrics.NoopRequestMetrics
	webhookmetrics.WebhookMetrics
	authorizationcel.MatcherMetrics
}

func newWebhookMetrics() webhookMetrics {
	return webhookMetrics{
		WebhookMetrics: webhookmetrics.NewWebhookMetrics(), MatcherMetrics: authorizationcel.NewMatcherMetrics(),
	}
}
