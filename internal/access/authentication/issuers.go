package authentication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/util/filesystem"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/klog/v2"
)

var configScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

// readConfig reads and checks an AuthenticationConfiguration.
func readConfig(file string) (*apiserver.AuthenticationConfiguration, []byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--authentication-config: %w", err)
	}
	config, err := parseConfig(data)
	if err != nil {
		return nil, nil, fmt.Errorf("--authentication-config %s: %w", file, err)
	}
	return config, data, nil
}

func parseConfig(data []byte) (*apiserver.AuthenticationConfiguration, error) {
	codecs := serializer.NewCodecFactory(configScheme, serializer.EnableStrict)
	decoded, err := runtime.Decode(codecs.UniversalDecoder(), data)
	if err != nil {
		return nil, err
	}
	config, ok := decoded.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("it is no AuthenticationConfiguration but %T", decoded)
	}
	if errs := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), config,
		nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return config, nil
}

// jwt returns the issuer that flags describe, in the form of a configuration file.
func (o *OIDCOptions) jwt() (apiserver.JWTAuthenticator, error) {
	prefix := o.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && o.UsernameClaim != "email":
		prefix = o.IssuerURL + "#"
	}
	jwt := apiserver.JWTAuthenticator{
		Issuer: apiserver.Issuer{URL: o.IssuerURL, Audiences: []string{o.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: o.UsernameClaim,
			Prefix: &prefix}},
	}
	if o.GroupsClaim != "" {
		jwt.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Claim: o.GroupsClaim, Prefix: &o.GroupsPrefix}
	}
	for claim, value := range o.RequiredClaims {
		jwt.ClaimValidationRules = append(jwt.ClaimValidationRules,
			apiserver.ClaimValidationRule{Claim: claim, RequiredValue: value})
	}
	if o.CAFile != "" {
		authority, err := os.ReadFile(o.CAFile)
		if err != nil {
			return jwt, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		jwt.Issuer.CertificateAuthority = string(authority)
	}
	return jwt, nil
}

// issuers authenticates tokens of OpenID Connect issuers. The configuration may change while the server runs.
type issuers struct {
	// lifecycle ends with the server.
	lifecycle  context.Context
	algorithms []string
	// disallowed are issuers that cannot be configured: those of service accounts.
	disallowed []string
	// egress finds the dialer of an egress; nil if there are none.
	egress  egressselector.Lookup
	current *atomic.Pointer[issuerSet]
}

// issuerSet is the issuers of one configuration.
type issuerSet struct {
	authenticator.Token
	// stop ends the work of the issuers. healthy returns an error while one of them cannot be used yet.
	stop    context.CancelFunc
	healthy func() error
}

var _ authenticator.Token = &issuers{}

// newIssuers returns the issuers of a configuration: i with a current set. Their keys are fetched in the background
// until the lifecycle ends.
func newIssuers(i issuers, jwts []apiserver.JWTAuthenticator) (*issuers, error) {
	i.current = &atomic.Pointer[issuerSet]{}
	set, err := i.make(jwts)
	if err != nil {
		return nil, err
	}
	i.current.Store(set)
	return &i, nil
}

// AuthenticateToken implements authenticator.Token.
func (i *issuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	return i.current.Load().AuthenticateToken(ctx, token)
}

func (i *issuers) make(jwts []apiserver.JWTAuthenticator) (*issuerSet, error) {
	ctx, cancel := context.WithCancel(i.lifecycle)
	var (
		tokens []authenticator.Token
		checks []func() error
	)
	for _, jwt := range jwts {
		client, err := clientOf(&jwt.Issuer, i.egress)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("client of issuer %s: %w", jwt.Issuer.URL, err)
		}
		token, err := oidc.New(ctx, oidc.Options{JWTAuthenticator: jwt, SupportedSigningAlgs: i.algorithms,
			DisallowedIssuers: i.disallowed, Client: client})
		if err != nil {
			cancel()
			return nil, fmt.Errorf("issuer %s: %w", jwt.Issuer.URL, err)
		}
		tokens, checks = append(tokens, token), append(checks, token.HealthCheck)
	}
	return &issuerSet{
		Token: tokenunion.NewFailOnError(tokens...),
		stop:  cancel,
		healthy: func() error {
			var errs []error
			for _, check := range checks {
				errs = append(errs, check())
			}
			return errors.Join(errs...)
		},
	}, nil
}

// The values of kube-apiserver for changes of a configuration file.
const (
	configPoll = time.Minute
	// New issuers take over when their keys have been fetched. The server checks every healthyPoll, and keeps the old
	// issuers if the keys are missing after healthyWait.
	healthyPoll = 100 * time.Millisecond
	healthyWait = time.Minute
	// retirement is how long the old issuers may finish requests in flight.
	retirement = time.Minute
)

// follow reads the configuration file again when it changes, until ctx is done.
func (i *issuers) follow(ctx context.Context, file string, last []byte) {
	filesystem.WatchUntil(ctx, configPoll, file, func() {
		config, data, err := readConfig(file)
		if err == nil && !bytes.Equal(data, last) {
			if err = i.replace(ctx, config.JWT); err == nil {
				last = data
				klog.FromContext(ctx).Info("The authentication configuration was read again", "file", file)
			}
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "The changed authentication configuration is not used", "file", file)
		}
	}, func(err error) {
		klog.FromContext(ctx).Error(err, "The authentication configuration cannot be watched", "file", file)
	})
}

// replace replaces the issuers as soon as the new ones can be used.
func (i *issuers) replace(ctx context.Context, jwts []apiserver.JWTAuthenticator) error {
	set, err := i.make(jwts)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, healthyPoll, healthyWait, true, func(context.Context) (bool, error) {
		return set.healthy() == nil, nil
	})
	if err != nil {
		set.stop()
		return fmt.Errorf("its issuers cannot be used: %w", set.healthy())
	}
	old := i.current.Swap(set)
	time.AfterFunc(retirement, old.stop)
	return nil
}
