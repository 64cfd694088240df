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
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	webhooktoken "k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/access/hostcluster"
	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// Config is what an Authenticator needs.
type Config struct {
	Options *Options
	// ClientCAs are the authorities of client certificates, including those of Options.ClientCAFile.
	ClientCAs dynamiccertificates.CAContentProvider
	// First is the first authenticator; it may be nil.
	First authenticator.Request
	// Last is asked if no other authenticator recognizes a request; it may be nil.
	Last authenticator.Request
	// ServiceAccounts verifies tokens of service accounts; nil without service accounts.
	ServiceAccounts ServiceAccounts
	// AnonymousPaths are open to anonymous requests while Options.Anonymous is not set.
	AnonymousPaths []string
	// Removed refuses client certificates that were removed; nil if there are none.
	Removed Removed
}

// Removed knows which client certificates are no longer valid.
type Removed interface {
	// Refuse returns an error if the certificate by which the user was authenticated was removed.
	Refuse(ctx context.Context, u user.Info) error
}

// ServiceAccounts verifies tokens of service accounts.
type ServiceAccounts interface {
	authenticator.Token
	// Audiences are those of the server, unless Options has some.
	Audiences() authenticator.Audiences
	// Issuers are the issuers of the tokens, which nobody else may issue.
	Issuers() []string
}

// Authenticator finds the user of a request. It follows its files and its ConfigMap while Run runs.
type Authenticator struct {
	authenticator.Request
	// ClientCAs are the authorities that the TLS handshake names to clients.
	ClientCAs dynamiccertificates.CAContentProvider
	// RequestHeaders are the headers of front proxies, which are removed from requests; nil without front proxies.
	RequestHeaders *authenticatorfactory.RequestHeaderConfig
	// Audiences are the audiences that tokens must be for.
	Audiences authenticator.Audiences
	// Tokens authenticates requests by bearer tokens alone, for TokenReviews; nil if no tokens are accepted.
	Tokens authenticator.Request

	// run follows files and the host cluster; each function ends with its context.
	run []func(context.Context)
}

// New makes an authenticator. The work that it starts ends with lifecycle. With a host cluster it reads the cluster's
// ConfigMap. Errors name the flag that is wrong.
func New(lifecycle context.Context, config Config) (*Authenticator, error) {
	o := config.Options
	a := &Authenticator{Audiences: o.Audiences}
	if config.ServiceAccounts != nil {
		a.Audiences = config.ServiceAccounts.Audiences()
	}
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
	methods = append(methods, authenticator.WrapAudienceAgnosticRequest(a.Audiences,
		newCertificates(clients, config.Removed)))

	structured, tokens, err := a.tokens(lifecycle, &config, client)
	if err != nil {
		return nil, err
	}
	if len(tokens) > 0 {
		token := tokenunion.New(tokens...)
		a.Tokens = group.NewAuthenticatedGroupAdder(union.New(bearertoken.New(loopback), bearertoken.New(token)))
		methods = append(methods, bearertoken.New(token), websocket.NewProtocolAuthenticator(token))
	}
	if config.Last != nil {
		methods = append(methods, config.Last)
	}
	a.Request = group.NewAuthenticatedGroupAdder(union.New(methods...))
	anonymous, err := o.anonymous(structured, config.AnonymousPaths)
	if err != nil {
		return nil, err
	}
	if anonymous != nil {
		// A request with a wrong credential is refused: it is not anonymous.
		a.Request = union.NewFailOnError(a.Request, anonymous)
	}
	return a, nil
}

// loopback knows no token. kube-apiserver compares a token with that of its own client before all others, so the errors
// of its TokenReviews begin with this failure.
var loopback = authenticator.TokenFunc(func(context.Context, string) (*authenticator.Response, bool, error) {
	return nil, false, nil
})

// tokenTTL is how long an accepted token is cached. The value is kube-apiserver's.
const tokenTTL = 10 * time.Second

// Run follows files and the host cluster until ctx is done.
func (a *Authenticator) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range a.run {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
	<-ctx.Done()
}

// Follows reports whether the authenticator follows files or the host cluster, so that its authorities may change.
func (a *Authenticator) Follows() bool { return len(a.run) > 0 }

// trust returns the authorities of client certificates, and sets a.RequestHeaders. Flags have precedence over the
// host cluster.
func (a *Authenticator) trust(
	ctx context.Context, config *Config, client kubernetes.Interface,
) (clients dynamiccertificates.CAContentProvider, err error) {
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
		klog.FromContext(ctx).Error(err, "Starting without the client authorities and front proxies of the host cluster")
	}
	if o.ClientCAFile == "" {
		clients = dynamiccertificates.NewUnionCAContentProvider(clients, found.clientCA)
		a.run = append(a.run, func(ctx context.Context) { found.clientCA.Run(ctx, 1) })
	}
	if a.RequestHeaders == nil {
		a.RequestHeaders = found.requestHeaders()
		a.run = append(a.run, func(ctx context.Context) { found.proxyCA.Run(ctx, 1) },
			func(ctx context.Context) { found.headers.Run(ctx, 1) })
	}
	return clients, nil
}

// tokens returns the authenticators of tokens, and the configuration file if there is one. Accepted tokens are cached,
// except for those of service accounts: the deletion of an account takes effect at once.
func (a *Authenticator) tokens(
	lifecycle context.Context, config *Config, client kubernetes.Interface,
) (structured *apiserver.AuthenticationConfiguration, tokens []authenticator.Token, err error) {
	structured, others, err := a.otherTokens(lifecycle, config, client)
	if err != nil {
		return nil, nil, err
	}
	if config.ServiceAccounts != nil {
		tokens = append(tokens, config.ServiceAccounts)
	}
	if len(others) > 0 {
		tokens = append(tokens, tokencache.New(tokenunion.New(others...), true, tokenTTL, 0))
	}
	return structured, tokens, nil
}

// otherTokens returns the authenticators of tokens besides those of service accounts, local ones first.
func (a *Authenticator) otherTokens(
	lifecycle context.Context, config *Config, client kubernetes.Interface,
) (structured *apiserver.AuthenticationConfiguration, tokens []authenticator.Token, err error) {
	o := config.Options
	if o.TokenFile != "" {
		file, err := tokenfile.NewCSV(o.TokenFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--token-auth-file %s: %w", o.TokenFile, err)
		}
		tokens = append(tokens, authenticator.WrapAudienceAgnosticToken(a.Audiences, file))
	}
	structured, issued, err := a.issued(lifecycle, config)
	if err != nil {
		return nil, nil, err
	}
	if issued != nil {
		tokens = append(tokens, authenticator.WrapAudienceAgnosticToken(a.Audiences, issued))
	}
	if o.Webhook.ConfigFile != "" {
		config, err := webhook.LoadKubeconfig(o.Webhook.ConfigFile, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-token-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
		}
		asked, err := webhooktoken.New(boundedhttp.Bounded(config), o.Webhook.Version, a.Audiences,
			hostcluster.RetryBackoff())
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

// issued returns the authenticator of tokens of issuers, from a configuration file or flags; nil without issuers.
func (a *Authenticator) issued(
	lifecycle context.Context, config *Config,
) (*apiserver.AuthenticationConfiguration, authenticator.Token, error) {
	o := config.Options
	base := issuers{lifecycle: lifecycle}
	if config.ServiceAccounts != nil {
		base.disallowed = config.ServiceAccounts.Issuers()
	}
	var err error
	if base.egress, err = readEgress(o.EgressFile); err != nil {
		return nil, nil, fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	switch {
	case o.ConfigFile != "":
		structured, data, err := readConfig(o.ConfigFile)
		if err != nil {
			return nil, nil, err
		}
		base.algorithms = oidc.AllValidSigningAlgorithms()
		accepted, err := newIssuers(base, structured.JWT)
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-config %s: %w", o.ConfigFile, err)
		}
		a.run = append(a.run, func(ctx context.Context) { accepted.follow(ctx, o.ConfigFile, data) })
		return structured, accepted, nil
	case o.OIDC.used():
		jwt, err := o.OIDC.jwt()
		if err != nil {
			return nil, nil, err
		}
		base.algorithms = o.OIDC.SigningAlgs
		accepted, err := newIssuers(base, []apiserver.JWTAuthenticator{jwt})
		if err != nil {
			return nil, nil, fmt.Errorf("--oidc-issuer-url: %w", err)
		}
		return nil, accepted, nil
	}
	return nil, nil, nil
}

// anonymous returns the authenticator of anonymous requests; nil if there are none.
func (o *Options) anonymous(
	structured *apiserver.AuthenticationConfiguration, paths []string,
) (authenticator.Request, error) {
	if structured != nil && structured.Anonymous != nil {
		if o.Anonymous != cliflag.Unset {
			return nil, fmt.Errorf("--anonymous-auth and anonymous in --authentication-config exclude each other")
		}
		if !structured.Anonymous.Enabled {
			return nil, nil
		}
		return anonymous.NewAuthenticator(structured.Anonymous.Conditions), nil
	}
	switch {
	case o.Anonymous == cliflag.True, o.Anonymous == cliflag.Unset && o.AnonymousByDefault:
		return anonymous.NewAuthenticator(nil), nil
	case o.Anonymous == cliflag.False:
		return nil, nil
	}
	conditions := make([]apiserver.AnonymousAuthCondition, 0, len(paths))
	for _, path := range paths {
		conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: path})
	}
	return anonymous.NewAuthenticator(conditions), nil
}
