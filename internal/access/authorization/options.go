package authorization

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authentication/user"
)

// The modes, as kube-apiserver names them.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeWebhook     = "Webhook"
	ModeRBAC        = "RBAC"
	// ModeNode limits kubelets to their own node. There are none here, so it has no opinion.
	ModeNode = "Node"
)

// modeABAC is the one of kube-apiserver's modes that this server does not have.
const modeABAC = "ABAC"

var modes = []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeWebhook, ModeRBAC, ModeNode}

// Options configures the authorizers. Flags have the names and meanings of kube-apiserver's and extension API servers'.
type Options struct {
	// Modes are the authorizers, in order.
	Modes []string
	// ConfigFile is an AuthorizationConfiguration, instead of Modes. It is read again when it changes.
	ConfigFile string
	// WebhookConfigFile is a kubeconfig that names the webhook of the mode Webhook. WebhookVersion is the version of
	// the SubjectAccessReviews that it gets: v1 or v1beta1.
	WebhookConfigFile, WebhookVersion string
	// AllowTTL and DenyTTL are how long decisions of the webhook and of a host cluster are cached.
	AllowTTL, DenyTTL time.Duration
	// Kubeconfig names a host cluster, which decides last.
	Kubeconfig string
	// AlwaysAllowGroups may do everything. AlwaysAllowPaths are open to everybody; a * at the end is a wildcard.
	AlwaysAllowGroups, AlwaysAllowPaths []string
	// OnlyModes leaves out the built-in rules that otherwise stand in for roles when no mode is ModeRBAC.
	OnlyModes bool
}

// NewOptions returns the defaults: no authorizers but the built-in rules. A server that has roles adds ModeRBAC.
func NewOptions() Options {
	return Options{
		WebhookVersion:    "v1beta1",
		AllowTTL:          10 * time.Second,
		DenyTTL:           10 * time.Second,
		AlwaysAllowGroups: []string{user.SystemPrivilegedGroup},
		AlwaysAllowPaths:  []string{"/healthz", "/livez", "/readyz"},
	}
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Modes, "authorization-mode", o.Modes,
		"Ordered list of authorizers, comma separated: "+strings.Join(modes, ", ")+". "+
			ModeAlwaysAllow+" allows authenticated users everything but impersonation. "+
			ModeNode+" is accepted and has no effect. Default: "+ModeRBAC+" with built-in resources; none with a host cluster. "+
			"Without any, and without a host cluster, only "+user.SystemPrivilegedGroup+" may use more than discovery.")
	fs.StringVar(&o.ConfigFile, "authorization-config", o.ConfigFile,
		"`File` with an AuthorizationConfiguration, instead of --authorization-mode. It is read again when it changes.")
	fs.StringVar(&o.WebhookConfigFile, "authorization-webhook-config-file", o.WebhookConfigFile,
		"`File` (a kubeconfig) that names the webhook of the mode Webhook.")
	fs.StringVar(&o.WebhookVersion, "authorization-webhook-version", o.WebhookVersion,
		"Version of authorization.k8s.io that the webhook gets.")
	fs.DurationVar(&o.AllowTTL, "authorization-webhook-cache-authorized-ttl", o.AllowTTL,
		"Time for which the webhook's permissions are cached.")
	fs.DurationVar(&o.DenyTTL, "authorization-webhook-cache-unauthorized-ttl", o.DenyTTL,
		"Time for which the webhook's refusals are cached.")
	fs.StringVar(&o.Kubeconfig, "authorization-kubeconfig", o.Kubeconfig,
		"`File` (a kubeconfig) of the host cluster, which decides by its roles: it gets SubjectAccessReviews.")
	fs.StringSliceVar(&o.AlwaysAllowPaths, "authorization-always-allow-paths", o.AlwaysAllowPaths,
		"Paths that are open to everybody, comma separated; a * at the end is a wildcard.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	for n, mode := range o.Modes {
		switch {
		case mode == modeABAC:
			errs = append(errs, errors.New("--authorization-mode: ABAC, with its policy file, is not supported: use RBAC"))
		case !slices.Contains(modes, mode):
			errs = append(errs, fmt.Errorf("--authorization-mode: %q is none of %s", mode, strings.Join(modes, ", ")))
		}
		if slices.Contains(o.Modes[:n], mode) {
			errs = append(errs, fmt.Errorf("--authorization-mode names %s twice", mode))
		}
	}
	webhook := slices.Contains(o.Modes, ModeWebhook)
	if webhook != (o.WebhookConfigFile != "") {
		errs = append(errs, errors.New("--authorization-mode Webhook and --authorization-webhook-config-file need each "+
			"other"))
	}
	if o.ConfigFile != "" && len(o.Modes) > 0 {
		errs = append(errs, errors.New("--authorization-config and --authorization-mode exclude each other"))
	}
	if !slices.Contains([]string{"v1", "v1beta1"}, o.WebhookVersion) {
		errs = append(errs, fmt.Errorf("--authorization-webhook-version must be v1 or v1beta1, not %q", o.WebhookVersion))
	}
	if o.AllowTTL < 0 || o.DenyTTL < 0 {
		errs = append(errs, errors.New("--authorization-webhook-cache-authorized-ttl and "+
			"--authorization-webhook-cache-unauthorized-ttl must not be negative"))
	}
	return errs
}
