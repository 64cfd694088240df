package serviceaccounts

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// DefaultIssuer is the issuer that clusters usually have. The URL of the server would change with its address, and
// differ between replicas; tokens must outlive both.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// Options configures tokens of service accounts. Flags have the names and meanings of kube-apiserver's.
type Options struct {
	// SigningKeyFile is the private key that signs tokens; "" for the generated one.
	SigningKeyFile string
	// KeyFiles are more keys, private or public, whose tokens are accepted.
	KeyFiles []string
	// Issuers are the issuers whose tokens are accepted. The first one issues. None means DefaultIssuer.
	Issuers []string
	// JWKSURI is where others find the keys. "" means this server.
	JWKSURI string
	// MaxExpiration bounds the duration of tokens; 0 does not.
	MaxExpiration time.Duration
	// ExtendExpiration makes tokens valid for a year that the admission of pods has asked for.
	ExtendExpiration bool
}

// NewOptions returns the defaults.
func NewOptions() Options { return Options{ExtendExpiration: true} }

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.SigningKeyFile, "service-account-signing-key-file", o.SigningKeyFile,
		"`File` with the private key (RSA or ECDSA, PEM) that signs tokens of service accounts. Without it one is "+
			"generated in the data directory.")
	fs.StringArrayVar(&o.KeyFiles, "service-account-key-file", o.KeyFiles,
		"`File` with keys (RSA or ECDSA, PEM, private or public) whose tokens of service accounts are accepted besides "+
			"those of the signing key. May be repeated.")
	fs.StringArrayVar(&o.Issuers, "service-account-issuer", o.Issuers,
		"Issuer of tokens of service accounts. May be repeated: the first one issues tokens, all are accepted. Default: "+
			DefaultIssuer+".")
	fs.StringVar(&o.JWKSURI, "service-account-jwks-uri", o.JWKSURI,
		"`URL` of the keys that /.well-known/openid-configuration names. Default: /openid/v1/jwks of this server.")
	fs.DurationVar(&o.MaxExpiration, "service-account-max-token-expiration", o.MaxExpiration,
		"Longest validity of a token of a service account; requests for more get this. 0 for no limit.")
	fs.BoolVar(&o.ExtendExpiration, "service-account-extend-token-expiration", o.ExtendExpiration,
		"Makes tokens of pods that are renewed every hour valid for a year, so that programs that do not renew them still "+
			"work.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	seen := map[string]bool{}
	for _, issuer := range o.Issuers {
		switch _, err := url.Parse(issuer); {
		case issuer == "":
			errs = append(errs, errors.New("--service-account-issuer must not be empty"))
		case strings.Contains(issuer, ":") && err != nil:
			errs = append(errs, fmt.Errorf("--service-account-issuer %q has a colon but is no URL: %w", issuer, err))
		case seen[issuer]:
			errs = append(errs, fmt.Errorf("--service-account-issuer %q is given twice", issuer))
		}
		seen[issuer] = true
	}
	if u, err := url.Parse(o.JWKSURI); o.JWKSURI != "" && (err != nil || u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("--service-account-jwks-uri must be an https URL, not %q", o.JWKSURI))
	}
	if o.MaxExpiration != 0 && (o.MaxExpiration < time.Hour || o.MaxExpiration > maxExpirationSeconds*time.Second) {
		errs = append(errs, fmt.Errorf(
			"--service-account-max-token-expiration must be 0, or between 1 hour and 2^32 seconds, not %v", o.MaxExpiration))
	}
	return errs
}

// issuers returns Issuers or their default.
func (o *Options) issuers() []string {
	if len(o.Issuers) > 0 {
		return o.Issuers
	}
	return []string{DefaultIssuer}
}
