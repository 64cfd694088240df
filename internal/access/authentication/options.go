package authentication

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// Options configures the authenticators. Flags have the names and meanings of kube-apiserver's.
type Options struct {
	// ClientCAFile holds authorities whose client certificates are accepted beside the generated ones.
	ClientCAFile string
	// Anonymous lets requests without a credential through as system:anonymous: when not set, on the health paths only;
	// True everywhere (authorization then refuses them with 403 instead of 401), False nowhere.
	Anonymous cliflag.Tristate
	// AnonymousByDefault lets them through everywhere too when neither Anonymous nor ConfigFile says anything.
	AnonymousByDefault bool
	// FrontProxy configures front proxies.
	FrontProxy FrontProxyOptions
	// TokenFile is a file of tokens: CSV, token,user,uid and optionally "group1,group2".
	TokenFile string
	// ConfigFile is an AuthenticationConfiguration. It is read again when it changes.
	ConfigFile string
	// EgressFile is an EgressSelectorConfiguration: how issuers are reached that name an egress in ConfigFile.
	EgressFile string
	OIDC       OIDCOptions
	Webhook    WebhookOptions
	// Audiences are the audiences that tokens must be for.
	Audiences []string
	Delegated DelegatedOptions
}

// FrontProxyOptions configures the front proxies and their headers.
type FrontProxyOptions struct {
	ClientCAFile                                           string
	AllowedNames                                           []string
	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraPrefix []string
}

// OIDCOptions describes one OpenID Connect issuer. Options.ConfigFile can describe several.
type OIDCOptions struct {
	IssuerURL, ClientID, CAFile   string
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	SigningAlgs                   []string
	RequiredClaims                map[string]string
}

// WebhookOptions configures the webhook that reviews tokens.
type WebhookOptions struct {
	// ConfigFile is a kubeconfig that names the webhook.
	ConfigFile string
	// Version is the version of the TokenReviews that the webhook gets: v1 or v1beta1.
	Version string
	// CacheTTL is how long reviews of the webhook and of a host cluster are cached.
	CacheTTL time.Duration
}

// DelegatedOptions delegates authentication to a host cluster.
type DelegatedOptions struct {
	// Kubeconfig names the host cluster. It reviews tokens. Its ConfigMap
	// kube-system/extension-apiserver-authentication configures client certificates and front proxies, unless flags
	// do.
	Kubeconfig string
	// SkipLookup ignores the ConfigMap. TolerateFailure starts the server even if the ConfigMap cannot be read.
	SkipLookup, TolerateFailure bool
}

// NewOptions returns the defaults: client certificates only.
func NewOptions() Options {
	return Options{
		OIDC:    OIDCOptions{UsernameClaim: "sub", SigningAlgs: []string{"RS256"}},
		Webhook: WebhookOptions{Version: "v1beta1", CacheTTL: 10 * time.Second},
	}
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"`File` with authorities whose client certificates are accepted beside the generated ones; the common name is the "+
			"user, the organizations are the groups.")
	flag := fs.VarPF(&o.Anonymous, "anonymous-auth", "",
		"Lets requests without a credential through as user system:anonymous. Not set: only to /healthz, /livez and /readyz.")
	flag.NoOptDefVal = "true"
	flag.DefValue = "false" // the help prints no default: not set differs from true and false
	fs.StringVar(&o.TokenFile, "token-auth-file", o.TokenFile,
		"`File` with tokens, as CSV: token, user, uid, \"group1,group2\".")
	fs.StringVar(&o.ConfigFile, "authentication-config", o.ConfigFile,
		"`File` with an AuthenticationConfiguration: issuers of tokens (JWT) and conditions for anonymous requests. Its "+
			"changes are followed.")
	fs.StringSliceVar(&o.Audiences, "api-audiences", o.Audiences,
		"Audiences of this server: tokens must be for one of them. Comma separated.")
	o.FrontProxy.addFlags(fs)
	o.OIDC.addFlags(fs)
	o.Webhook.addFlags(fs)
	o.Delegated.addFlags(fs)
}

func (o *FrontProxyOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ClientCAFile, "requestheader-client-ca-file", o.ClientCAFile,
		"`File` with the authorities of front proxies' client certificates, from which the headers below are believed.")
	fs.StringSliceVar(&o.AllowedNames, "requestheader-allowed-names", o.AllowedNames,
		"Common names of the front proxies, comma separated. Without any, all that --requestheader-client-ca-file has "+
			"signed.")
	fs.StringSliceVar(&o.UsernameHeaders, "requestheader-username-headers", o.UsernameHeaders,
		"Headers with the user, such as X-Remote-User.")
	fs.StringSliceVar(&o.UIDHeaders, "requestheader-uid-headers", o.UIDHeaders,
		"Headers with the user's UID, such as X-Remote-Uid.")
	fs.StringSliceVar(&o.GroupHeaders, "requestheader-group-headers", o.GroupHeaders,
		"Headers with a group of the user, such as X-Remote-Group.")
	fs.StringSliceVar(&o.ExtraPrefix, "requestheader-extra-headers-prefix", o.ExtraPrefix,
		"Prefixes of headers with more about the user, such as X-Remote-Extra-.")
}

func (o *OIDCOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.IssuerURL, "oidc-issuer-url", o.IssuerURL,
		"`URL` (https) of an OpenID Connect issuer whose tokens are accepted.")
	fs.StringVar(&o.ClientID, "oidc-client-id", o.ClientID, "Client that the issuer's tokens must be for.")
	fs.StringVar(&o.CAFile, "oidc-ca-file", o.CAFile,
		"`File` with the authorities of the issuer's certificate; the system's by default.")
	fs.StringVar(&o.UsernameClaim, "oidc-username-claim", o.UsernameClaim, "Claim with the user's name.")
	fs.StringVar(&o.UsernamePrefix, "oidc-username-prefix", o.UsernamePrefix,
		"Prefix of the user's name; - for none. Without it, the issuer's URL unless the claim is email.")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", o.GroupsClaim, "Claim with the user's groups.")
	fs.StringVar(&o.GroupsPrefix, "oidc-groups-prefix", o.GroupsPrefix, "Prefix of the groups.")
	fs.StringSliceVar(&o.SigningAlgs, "oidc-signing-algs", o.SigningAlgs,
		"Algorithms that tokens may be signed with, comma separated.")
	fs.StringToStringVar(&o.RequiredClaims, "oidc-required-claim", o.RequiredClaims,
		"`claim=value` that tokens must have. May be repeated.")
}

func (o *WebhookOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "authentication-token-webhook-config-file", o.ConfigFile,
		"`File` (a kubeconfig) that names the webhook to ask about tokens.")
	fs.StringVar(&o.Version, "authentication-token-webhook-version", o.Version,
		"Version of authentication.k8s.io that the webhook gets.")
	fs.DurationVar(&o.CacheTTL, "authentication-token-webhook-cache-ttl", o.CacheTTL,
		"Time for which the webhook's reviews of tokens are cached.")
}

func (o *DelegatedOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "authentication-kubeconfig", o.Kubeconfig,
		"`File` (a kubeconfig) of the host cluster, which is asked about tokens, and whose ConfigMap "+configMapNamespace+"/"+
			configMapName+
			" says which client certificates and front proxies are accepted.")
	fs.BoolVar(&o.SkipLookup, "authentication-skip-lookup", o.SkipLookup, "Does not read that ConfigMap.")
	fs.BoolVar(&o.TolerateFailure, "authentication-tolerate-lookup-failure", o.TolerateFailure,
		"Starts even if that ConfigMap cannot be read.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	if o.ConfigFile != "" {
		if o.OIDC.used() {
			errs = append(errs, errors.New("--authentication-config and the --oidc- flags exclude each other"))
		}
	}
	errs = append(errs, o.OIDC.validate()...)
	if o.FrontProxy.ClientCAFile != "" && len(o.FrontProxy.UsernameHeaders) == 0 {
		errs = append(errs, errors.New("--requestheader-client-ca-file needs --requestheader-username-headers, such as "+
			"X-Remote-User"))
	}
	if o.FrontProxy.ClientCAFile == "" && o.FrontProxy.Used() {
		errs = append(errs, errors.New("the --requestheader- flags need --requestheader-client-ca-file"))
	}
	if !slices.Contains([]string{"v1", "v1beta1"}, o.Webhook.Version) {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-version must be v1 or v1beta1, not %q",
			o.Webhook.Version))
	}
	if o.Webhook.CacheTTL < 0 {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-cache-ttl must not be negative, not %v",
			o.Webhook.CacheTTL))
	}
	if o.Delegated.Kubeconfig == "" && (o.Delegated.SkipLookup || o.Delegated.TolerateFailure) {
		errs = append(errs, errors.New("--authentication-skip-lookup and --authentication-tolerate-lookup-failure need "+
			"--authentication-kubeconfig"))
	}
	if o.Delegated.Kubeconfig != "" && o.Webhook.ConfigFile != "" {
		errs = append(errs, errors.New("--authentication-kubeconfig and --authentication-token-webhook-config-file exclude "+
			"each other"))
	}
	return errs
}

// Used reports whether there are settings of headers.
func (o *FrontProxyOptions) Used() bool {
	return len(o.AllowedNames)+len(o.UsernameHeaders)+len(o.UIDHeaders)+len(o.GroupHeaders)+len(o.ExtraPrefix) > 0
}

func (o *OIDCOptions) used() bool { return o.IssuerURL != "" || o.ClientID != "" }

func (o *OIDCOptions) validate() (errs []error) {
	if (o.IssuerURL == "") != (o.ClientID == "") {
		errs = append(errs, errors.New("--oidc-issuer-url and --oidc-client-id must be given together"))
	}
	if u, err := url.Parse(o.IssuerURL); o.IssuerURL != "" && (err != nil || u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("--oidc-issuer-url must be an https URL, not %q", o.IssuerURL))
	}
	return errs
}
