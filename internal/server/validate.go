package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ValidOptions are options without mistakes. Options.Validate makes them. They do not change.
type ValidOptions struct {
	Options
	// definitions are the built-in resources that the server has.
	definitions []*resource.Definition
	// serviceRanges are the ranges of the addresses of Services.
	serviceRanges []netip.Prefix
}

// Validate returns a copy of the options, with what follows from them. Its error has every mistake, one line each.
func (o *Options) Validate() (*ValidOptions, error) {
	errs := o.validate()
	definitions, err := builtin.Enabled(builtin.Definitions(o.builtinTier()), o.Resources.RuntimeConfig)
	if err != nil {
		errs = append(errs, fmt.Errorf("--runtime-config: %w", err))
	}
	ranges, err := allocator.ParseRanges(o.Resources.ServiceClusterIPRange)
	if err != nil {
		errs = append(errs, fmt.Errorf("--service-cluster-ip-range: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &ValidOptions{Options: *o, definitions: definitions, serviceRanges: ranges}, nil
}

func (o *Options) validate() (errs []error) {
	if o.DataDir == "" && !o.InMemory && len(o.Etcd.Servers) == 0 {
		errs = append(errs, errors.New("--data-dir must not be empty"))
	}
	if o.InMemory && len(o.Etcd.Servers) > 0 {
		errs = append(errs, errors.New("--in-memory and --etcd-servers exclude each other"))
	}
	if slices.Contains(o.CRDs, "") {
		errs = append(errs, errors.New("--crds must not be empty"))
	}
	for _, mistakes := range [][]error{
		o.Serving.validate(), o.Authentication.Validate(), o.ServiceAccounts.Validate(), o.Authorization.Validate(),
		o.Admission.Validate(), o.Services.Validate(),
		o.Audit.Validate(),
		o.Aggregator.Validate(), o.Etcd.Validate(), o.Encryption.Validate(), o.Requests.validate(),
		o.Resources.validateControllers(), o.Extensions.validate(),
	} {
		errs = append(errs, mistakes...)
	}
	if !slices.Contains([]string{"", builtin.None, builtin.TierEssential, builtin.TierAll}, o.Resources.Builtin) {
		errs = append(errs, fmt.Errorf("--builtin-resources must be none, essential or all, not %q", o.Resources.Builtin))
	}
	if o.builtinTier() == builtin.None && o.Admission.Kubeconfig == "" && o.Admission.HasNamespaceLifecycle(false) {
		errs = append(errs, errors.New(
			"--enable-admission-plugins NamespaceLifecycle needs --kubeconfig or --builtin-resources: without them every "+
				"namespace exists"))
	}
	if o.builtinTier() == builtin.None && o.Admission.HasResourceQuota(false) {
		errs = append(errs,
			errors.New("--enable-admission-plugins ResourceQuota needs --builtin-resources: without them there are no quotas"))
	}
	if o.builtinTier() == builtin.None && slices.Contains(o.Authorization.Modes, authorization.ModeRBAC) {
		errs = append(errs, errors.New("--authorization-mode RBAC needs --builtin-resources: without them there are no "+
			"roles"))
	}
	if o.Resources.EventTTL < time.Second {
		errs = append(errs, fmt.Errorf("--event-ttl must be at least 1s, not %s", o.Resources.EventTTL))
	}
	if o.Resources.SchemaCache.Sign() <= 0 {
		errs = append(errs, fmt.Errorf("--schema-cache-size must be more than 0, not %s", o.Resources.SchemaCache.String()))
	}
	if o.Resources.DeleteCollectionWorkers < 1 {
		errs = append(errs, fmt.Errorf("--delete-collection-workers must be at least 1, not %d",
			o.Resources.DeleteCollectionWorkers))
	}
	for _, name := range unknownFeatures(o.FeatureGates) {
		errs = append(errs, fmt.Errorf("--feature-gates: unknown feature %q", name))
	}
	if _, err := o.emulatedVersion(); err != nil {
		errs = append(errs, fmt.Errorf("--emulated-version must be of the form 1.36, not %q", o.EmulatedVersion))
	}
	for _, err := range logsapi.Validate(o.Logs.LoggingConfiguration, nil, nil) {
		errs = append(errs, fmt.Errorf("logging: %w", err))
	}
	return errs
}

func (o *ServingOptions) validate() (errs []error) {
	if o.SecurePort < 0 || o.SecurePort > 65535 {
		errs = append(errs, fmt.Errorf("--secure-port must be between 0 and 65535, not %d", o.SecurePort))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file must be given together"))
	}
	if err := o.validateReconciler(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, o.Protocol.Validate()...)
	for _, san := range o.SANs {
		if !validSAN(san) {
			errs = append(errs, fmt.Errorf("--tls-san: %q is neither an IP address nor a DNS name", san))
		}
	}
	if o.HTTP2MaxStreams < 0 {
		errs = append(errs, fmt.Errorf("--http2-max-streams-per-connection must not be negative, not %d", o.HTTP2MaxStreams))
	}
	for _, origin := range o.CORSOrigins {
		if _, err := regexp.Compile(origin); err != nil {
			errs = append(errs, fmt.Errorf("--cors-allowed-origins: %w", err))
		}
	}
	for _, directive := range o.HSTSDirectives {
		if !hstsDirective.MatchString(directive) {
			errs = append(errs, fmt.Errorf("--strict-transport-security-directives: %q is none of max-age=SECONDS, "+
				"includeSubDomains, preload", directive))
		}
	}
	if o.GoawayChance < 0 || o.GoawayChance > 0.02 {
		errs = append(errs, fmt.Errorf("--goaway-chance must be between 0 and 0.02, not %v", o.GoawayChance))
	}
	return errs
}

var hstsDirective = regexp.MustCompile(`^(max-age=[0-9]+|includeSubDomains|preload)$`)

func validSAN(san string) bool {
	if net.ParseIP(san) != nil {
		return true
	}
	name := strings.TrimPrefix(strings.ToLower(san), "*.")
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

func (o *RequestOptions) validate() (errs []error) {
	if o.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("--request-timeout must be positive, not %v", o.Timeout))
	}
	if o.MinTimeout < 0 {
		errs = append(errs, fmt.Errorf("--min-request-timeout must not be negative, not %d", o.MinTimeout))
	}
	if o.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("--max-requests-inflight must not be negative, not %d", o.MaxInFlight))
	}
	if o.MaxMutatingInFlight < 0 {
		errs = append(errs, fmt.Errorf("--max-mutating-requests-inflight must not be negative, not %d",
			o.MaxMutatingInFlight))
	}
	if o.MaxMemory.Sign() < 0 {
		errs = append(errs, fmt.Errorf("--max-request-memory must not be negative, not %s", o.MaxMemory.String()))
	}
	if o.ShutdownDelay < 0 {
		errs = append(errs, fmt.Errorf("--shutdown-delay-duration must not be negative, not %v", o.ShutdownDelay))
	}
	return errs
}

// emulatedVersion returns the version to emulate; nil without one. As with kube-apiserver, it may have the prefix
// "kube=".
func (o *Options) emulatedVersion() (*version.Version, error) {
	if o.EmulatedVersion == "" {
		return nil, nil
	}
	return version.ParseMajorMinor(strings.TrimPrefix(o.EmulatedVersion, "kube="))
}

// HasFeature reports whether the libraries have a feature gate.
func HasFeature(name string) bool {
	addMetricGates()
	return slices.Contains([]string{"AllAlpha", "AllBeta"}, name) ||
		hasFeature(utilfeature.DefaultMutableFeatureGate.GetAll(), name)
}

// unknownFeatures returns the names that are no feature gates of the libraries, sorted.
func unknownFeatures(gates map[string]bool) (unknown []string) {
	for name := range gates {
		if !HasFeature(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func hasFeature[K ~string, V any](known map[K]V, name string) bool {
	_, ok := known[K(name)]
	return ok
}
