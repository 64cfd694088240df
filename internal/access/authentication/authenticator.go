package authentication

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	webhooktoken "k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/answers"
	"github.com/crd-server/crd-server/internal/hostcluster"
)

// Config is what an Authenticator is made of.
type Config struct {
	Options *Options
	// ClientCAs are the authorities of client certificates, those of Options.ClientCAFile among them.
	ClientCAs dynamiccertificates.CAContentProvider
	// First is asked before all others, if it is not nil.
	First authenticator.Request
	// AnonymousPaths are open to anybody while Options.Anonymous is not set.
	AnonymousPaths []string
}

// Authenticator tells whom a request is from. It looks after its files and its ConfigMap while Run runs.
type Authenticator struct {
	authenticator.Request
	// ClientCAs are the authorities whose certificates clients are to be asked for in the TLS handshake.
	ClientCAs dynamiccertificates.CAContentProvider
	// RequestHeaders are the headers of front proxies, which requests must not keep; nil without front proxies.
	RequestHeaders *authenticatorfactory.RequestHeaderConfig
	// Audiences are those that requests must be for.
	Audiences authenticator.Audiences

	// run are what looks after files and the host cluster; each ends with its context.
	run []func(context.Context)
}

// New makes an authenticator. What it starts ends with lifecycle. With a host cluster it reads the cluster's ConfigMap. Errors name the flag
// that is wrong.
func New(lifecycle context.Context, config Config) (*Authenticator, error) {
	o := config.Options
	a := &Authenticator{Audiences: o.Audiences}
	client, err := o.Delegated.client()
	if err != nil {
		return nil, err
	}
	clients, err := a.trust(lifecycle, &config, client)
	if err != nil {
		return nil, err
	}
	var methods []authenticator.Request
	if config.First != nil {
		methods = append(methods, config.First)
	}
	a.ClientCAs = clients
	if a.RequestHeaders != nil {
		a.ClientCAs = dynamiccertificates.NewUnionCAContentProvider(clients, a.RequestHeaders.CAContentProvider)
		methods = append(methods, authenticator.WrapAudienceAgnosticRequest(a.Audiences, newFrontProxy(a.RequestHeaders)))
	}
	methods = append(methods, authenticator.WrapAudienceAgnosticRequest(a.Audiences, newCertificates(clients)))

	structured, tokens, err := a.tokens(lifecycle, o, client)
	if err != nil {
		return nil, err
	}
	if len(tokens) > 0 {
		token := tokencache.New(tokenunion.New(tokens...), true, rememberedToken, 0)
		methods = append(methods, bearertoken.New(token), websocket.NewProtocolAuthenticator(token))
	}
	a.Request = group.NewAuthenticatedGroupAdder(union.New(methods...))
	nobody, err := o.anonymous(structured, config.AnonymousPaths)
	if err != nil {
		return nil, err
	}
	if nobody != nil {
		// A credential that is wrong is an error, not nobody's.
		a.Request = union.NewFailOnError(a.Request, nobody)
	}
	return a, nil
}

// rememberedToken is how long a token that was accepted is not looked at again, as with kube-apiserver.
const rememberedToken = 10 * time.Second

// Run looks after files and the host cluster until the context ends.
func (a *Authenticator) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range a.run {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
	<-ctx.Done()
}

// trust finds the authorities of client certificates, and the front proxies: what flags say, and what a host cluster says where
// they are silent.
func (a *Authenticator) trust(ctx context.Context, config *Config, client kubernetes.Interface) (clients dynamiccertificates.CAContentProvider, err error) {
	o := config.Options
	clients = config.ClientCAs
	headers, file, err := o.FrontProxy.requestHeaders()
	if err != nil {
		return nil, err
	}
	if headers != nil {
		a.RequestHeaders = headers
		a.run = append(a.run, func(ctx context.Context) { file.Run(ctx, 1) })
	}
	if client == nil || o.Delegated.SkipLookup {
		return clients, nil
	}
	found, err := newLookup(client)
	if err != nil {
		return nil, err
	}
	if err := found.read(ctx); err != nil {
		if !o.Delegated.TolerateFailure {
			return nil, err
		}
		klog.FromContext(ctx).Error(err, "Starting without the host cluster's client certificates and front proxies")
	}
	if o.ClientCAFile == "" {
		clients = dynamiccertificates.NewUnionCAContentProvider(clients, found.clientCA)
		a.run = append(a.run, func(ctx context.Context) { found.clientCA.Run(ctx, 1) })
	}
	if a.RequestHeaders == nil {
		a.RequestHeaders = found.requestHeaders()
		a.run = append(a.run, func(ctx context.Context) { found.proxyCA.Run(ctx, 1) }, func(ctx context.Context) { found.headers.Run(ctx, 1) })
	}
	return clients, nil
}

// tokens returns the ways to authenticate tokens, local ones first, and the configuration file if there is one.
func (a *Authenticator) tokens(lifecycle context.Context, o *Options, client kubernetes.Interface) (structured *apiserver.AuthenticationConfiguration, tokens []authenticator.Token, err error) {
	if o.TokenFile != "" {
		file, err := tokenfile.NewCSV(o.TokenFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--token-auth-file %s: %w", o.TokenFile, err)
		}
		tokens = append(tokens, authenticator.WrapAudienceAgnosticToken(a.Audiences, file))
	}
	structured, issued, err := a.issued(lifecycle, o)
	if err != nil {
		return nil, nil, err
	}
	if issued != nil {
		tokens = append(tokens, issued)
	}
	if o.Webhook.ConfigFile != "" {
		config, err := webhook.LoadKubeconfig(o.Webhook.ConfigFile, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-token-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
		}
		asked, err := webhooktoken.New(answers.Bounded(config), o.Webhook.Version, a.Audiences, hostcluster.RetryBackoff())
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-token-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
		}
		tokens = append(tokens, tokencache.New(asked, false, o.Webhook.CacheTTL, o.Webhook.CacheTTL))
	}
	if client != nil {
		reviewed, err := tokenReviews(client, a.Audiences)
		if err != nil {
			return nil, nil, err
		}
		tokens = append(tokens, tokencache.New(reviewed, false, o.Webhook.CacheTTL, o.Webhook.CacheTTL))
	}
	return structured, tokens, nil
}

// issued returns what accepts the tokens of issuers, by configuration file or by flags; nil without any.
func (a *Authenticator) issued(lifecycle context.Context, o *Options) (*apiserver.AuthenticationConfiguration, authenticator.Token, error) {
	switch {
	case o.ConfigFile != "":
		config, data, err := readConfig(o.ConfigFile)
		if err != nil {
			return nil, nil, err
		}
		accepted, err := newIssuers(lifecycle, config.JWT, oidc.AllValidSigningAlgorithms())
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-config %s: %w", o.ConfigFile, err)
		}
		a.run = append(a.run, func(ctx context.Context) { accepted.follow(ctx, o.ConfigFile, data) })
		return config, accepted, nil
	case o.OIDC.used():
		jwt, err := o.OIDC.jwt()
		if err != nil {
			return nil, nil, err
		}
		accepted, err := newIssuers(lifecycle, []apiserver.JWTAuthenticator{jwt}, o.OIDC.SigningAlgs)
		if err != nil {
			return nil, nil, fmt.Errorf("--oidc-issuer-url: %w", err)
		}
		return nil, accepted, nil
	}
	return nil, nil, nil
}

// anonymous returns what lets requests without a credential through; nil if nothing does.
func (o *Options) anonymous(structured *apiserver.AuthenticationConfiguration, paths []string) (authenticator.Request, error) {
	if structured != nil && structured.Anonymous != nil {
		if o.Anonymous != cliflag.Unset {
			return nil, fmt.Errorf("--anonymous-auth and anonymous in --authentication-config exclude each other")
		}
		if !structured.Anonymous.Enabled {
			return nil, nil
		}
		return anonymous.NewAuthenticator(structured.Anonymous.Conditions), nil
	}
	switch o.Anonymous {
	case cliflag.True:
		return anonymous.NewAuthenticator(nil), nil
	case cliflag.False:
		return nil, nil
	}
	conditions := make([]apiserver.AnonymousAuthCondition, 0, len(paths))
	for _, path := range paths {
		conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: path})
	}
	return anonymous.NewAuthenticator(conditions), nil
}
