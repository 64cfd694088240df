package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
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

// mistakes are errors in options.
type mistakes []error

// add adds an error if a mistake was made.
func (m *mistakes) add(made bool, format string, args ...any) {
	if made {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

func (o *Options) validate() []error {
	var all mistakes
	all.add(o.DataDir == "" && !o.InMemory && len(o.Etcd.Servers) == 0, "--data-dir must not be empty")
	all.add(o.InMemory && len(o.Etcd.Servers) > 0, "--in-memory and --etcd-servers exclude each other")
	all.add(slices.Contains(o.CRDs, ""), "--crds must not be empty")
	all = slices.Concat(all, o.Serving.validate(), o.Authentication.Validate(), o.ServiceAccounts.Validate(),
		o.Authorization.Validate(), o.Admission.Validate(), o.Services.Validate(), o.Audit.Validate(),
		o.Aggregator.Validate(), o.Etcd.Validate(), o.Encryption.Validate(), o.Requests.validate(),
		o.Resources.validate(), o.Extensions.validate())
	if o.builtinTier() == builtin.None {
		all.add(o.Admission.Kubeconfig == "" && o.Admission.HasNamespaceLifecycle(false),
			"--enable-admission-plugins NamespaceLifecycle needs --kubeconfig or --builtin-resources: without them every "+
				"namespace exists")
		all.add(o.Admission.HasResourceQuota(false),
			"--enable-admission-plugins ResourceQuota needs --builtin-resources: without them there are no quotas")
		all.add(slices.Contains(o.Authorization.Modes, authorization.ModeRBAC),
			"--authorization-mode RBAC needs --builtin-resources: without them there are no roles")
	}
	for _, name := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		all.add(!HasFeature(name), "--feature-gates: unknown feature %q", name)
	}
	_, err := o.emulatedVersion()
	all.add(err != nil, "--emulated-version must be of the form 1.36, not %q", o.EmulatedVersion)
	for _, err := range logsapi.Validate(o.Logs, nil, nil) {
		all.add(true, "logging: %w", err)
	}
	return all
}

func (o *ServingOptions) validate() []error {
	var all mistakes
	err := o.Protocol.Validate()
	all.add(err != nil, "%w", err)
	all.add(o.SecurePort < 0 || o.SecurePort > 65535, "--secure-port must be between 0 and 65535, not %d", o.SecurePort)
	all.add((o.CertFile == "") != (o.KeyFile == ""), "--tls-cert-file and --tls-private-key-file must be given together")
	all.add(!slices.Contains(reconcilers, o.EndpointReconciler), "--endpoint-reconciler-type: %q is none of %s",
		o.EndpointReconciler, strings.Join(reconcilers, ", "))
	for _, san := range o.SANs {
		all.add(!validSAN(san), "--tls-san: %q is neither an IP address nor a DNS name", san)
	}
	all.add(o.HTTP2MaxStreams < 0, "--http2-max-streams-per-connection must not be negative, not %d", o.HTTP2MaxStreams)
	for _, origin := range o.CORSOrigins {
		_, err := regexp.Compile(origin)
		all.add(err != nil, "--cors-allowed-origins: %w", err)
	}
	for _, directive := range o.HSTSDirectives {
		all.add(!hstsDirective.MatchString(directive), "--strict-transport-security-directives: %q is none of "+
			"max-age=SECONDS, includeSubDomains, preload", directive)
	}
	all.add(o.GoawayChance < 0 || o.GoawayChance > 0.02, "--goaway-chance must be between 0 and 0.02, not %v",
		o.GoawayChance)
	return all
}

var hstsDirective = regexp.MustCompile(`^(max-age=[0-9]+|includeSubDomains|preload)$`)

func validSAN(san string) bool {
	if net.ParseIP(san) != nil {
		return true
	}
	name := strings.TrimPrefix(strings.ToLower(san), "*.")
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

func (o *RequestOptions) validate() []error {
	var all mistakes
	all.add(o.Timeout <= 0, "--request-timeout must be positive, not %v", o.Timeout)
	all.add(o.MinTimeout < 0, "--min-request-timeout must not be negative, not %d", o.MinTimeout)
	all.add(o.MaxInFlight < 0, "--max-requests-inflight must not be negative, not %d", o.MaxInFlight)
	all.add(o.MaxMutatingInFlight < 0, "--max-mutating-requests-inflight must not be negative, not %d",
		o.MaxMutatingInFlight)
	all.add(o.MaxMemory.Sign() < 0, "--max-request-memory must not be negative, not %s", &o.MaxMemory)
	all.add(o.ShutdownDelay < 0, "--shutdown-delay-duration must not be negative, not %v", o.ShutdownDelay)
	return all
}

func (o *ResourceOptions) validate() []error {
	var all mistakes
	all.add(!slices.Contains([]string{"", builtin.None, builtin.TierEssential, builtin.TierAll}, o.Builtin),
		"--builtin-resources must be none, essential or all, not %q", o.Builtin)
	all.add(o.EventTTL < time.Second, "--event-ttl must be at least 1s, not %s", o.EventTTL)
	all.add(o.SchemaCache.Sign() <= 0, "--schema-cache-size must be more than 0, not %s", &o.SchemaCache)
	all.add(o.DeleteCollectionWorkers < 1, "--delete-collection-workers must be at least 1, not %d",
		o.DeleteCollectionWorkers)
	for _, element := range o.Controllers {
		known := element == "*" || slices.Contains(controllerNames, strings.TrimPrefix(element, "-"))
		all.add(!known, "--controllers: %q is none of *, %s", strings.TrimPrefix(element, "-"),
			strings.Join(controllerNames, ", "))
	}
	return all
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
	_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[featuregate.Feature(name)]
	return known || name == "AllAlpha" || name == "AllBeta"
}
