package authorization

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/authorization/union"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/hostcluster"
	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// Authorizer asks the configured authorizers in order. It follows its configuration file while Run runs.
type Authorizer struct {
	authorizer.Authorizer
	options *Options
	// follow follows the configuration file; nil without one.
	follow func(context.Context)
}

// New makes an authorizer. Errors name the flag that is wrong.
func New(o *Options) (*Authorizer, error) {
	builtIn, err := o.builtIn()
	if err != nil {
		return nil, err
	}
	a := &Authorizer{options: o}
	decide := builtIn
	if o.ConfigFile != "" {
		configured, err := newConfigured(o.ConfigFile)
		if err != nil {
			return nil, err
		}
		a.follow = configured.follow
		decide = append(decide, union.NamedAuthorizer{AuthorizerName: "configuration", Authorizer: configured})
	}
	for _, mode := range o.Modes {
		named, err := o.mode(mode)
		if err != nil {
			return nil, err
		}
		decide = append(decide, named)
	}
	if o.Kubeconfig != "" {
		host, err := o.host()
		if err != nil {
			return nil, fmt.Errorf("--authorization-kubeconfig %s: %w", o.Kubeconfig, err)
		}
		decide = append(decide, union.NamedAuthorizer{AuthorizerName: "host", Authorizer: host})
	}
	a.Authorizer, err = union.New(decide...)
	return a, err
}

// Run follows the configuration file until ctx is done.
func (a *Authorizer) Run(ctx context.Context) {
	if a.follow != nil {
		a.follow(ctx)
	}
	<-ctx.Done()
}

// mode returns the authorizer of a mode.
func (o *Options) mode(mode string) (union.NamedAuthorizer, error) {
	named := union.NamedAuthorizer{AuthorizerName: mode}
	switch mode {
	case ModeAlwaysAllow:
		named.Authorizer = alwaysAllow
	case ModeAlwaysDeny:
		named.Authorizer = authorizerfactory.NewAlwaysDenyAuthorizer()
	case ModeWebhook:
		config, err := webhookutil.LoadKubeconfig(o.WebhookConfigFile, nil)
		if err == nil {
			named.Authorizer, err = newWebhook(config, ModeWebhook, &apiserver.WebhookConfiguration{
				SubjectAccessReviewVersion: o.WebhookVersion,
			}, o.AllowTTL, o.DenyTTL)
		}
		if err != nil {
			return named, fmt.Errorf("--authorization-webhook-config-file %s: %w", o.WebhookConfigFile, err)
		}
	default:
		return named, fmt.Errorf("--authorization-mode: unknown mode %q", mode)
	}
	return named, nil
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
func newWebhook(config *rest.Config, name string, c *apiserver.WebhookConfiguration, allow, deny time.Duration) (authorizer.Authorizer, error) {
	onError := authorizer.DecisionNoOpinion
	if c.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	return webhook.New(boundedhttp.Bounded(config), c.SubjectAccessReviewVersion, allow, deny, hostcluster.RetryBackoff(), onError,
		c.MatchConditions, name, authorizerfactory.NewDelegatingAuthorizerMetrics(), authorizationcel.NewDefaultCompiler())
}
