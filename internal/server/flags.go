package server

import (
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
)

// Flags returns the flags of o, in named groups. Flags that kube-apiserver has too have its names and meanings. The
// running server shows their values at /flagz.
func (o *Options) Flags() *cliflag.NamedFlagSets {
	groups := &cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	o.addGenericFlags(groups.FlagSet("generic"))
	o.Serving.addFlags(groups.FlagSet("secure serving"))
	o.Authentication.AddFlags(groups.FlagSet("authentication"))
	o.ServiceAccounts.AddFlags(groups.FlagSet("authentication"))
	o.Authorization.AddFlags(groups.FlagSet("authorization"))
	o.Admission.AddFlags(groups.FlagSet("admission"))
	o.Services.AddFlags(groups.FlagSet("admission"))
	o.Audit.AddFlags(groups.FlagSet("audit"))
	o.Aggregator.AddFlags(groups.FlagSet("aggregator"))
	o.Etcd.AddFlags(groups.FlagSet("etcd"))
	o.Encryption.AddFlags(groups.FlagSet("etcd"))
	o.Requests.addFlags(groups.FlagSet("requests"))
	o.Resources.addFlags(groups.FlagSet("custom resources"))
	o.addFeatureFlags(groups.FlagSet("features"))
	logsapi.AddFlags(o.Logs, groups.FlagSet("logs"))
	hideAlphaLogFlags(groups.FlagSet("logs"))
	o.flags = *groups
	return groups
}

func (o *Options) addGenericFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Directory (`path`) of the certificates, the admin kubeconfig and the embedded etcd. It is created if it is missing.")
	fs.BoolVar(&o.InMemory, "in-memory", o.InMemory,
		"Keeps objects in memory: they are gone when the server ends. Certificates stay in the data directory.")
	fs.StringArrayVar(&o.CRDs, "crds", o.CRDs,
		"File or directory (`path`) of CustomResourceDefinitions (YAML or JSON) to apply before the server is ready. May "+
			"be repeated.")
}

func (o *ServingOptions) addFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.BindAddress, "bind-address", o.BindAddress,
		"IP address to listen on; 0.0.0.0 or :: for all interfaces.")
	fs.IntVar(&o.SecurePort, "secure-port", o.SecurePort,
		"Port for HTTPS with authentication and authorization; 0 selects a free one.")
	fs.IPVar(&o.AdvertiseAddress, "advertise-address", o.AdvertiseAddress,
		"IP address by which the members of the cluster reach the server, for the endpoints of the Service "+
			"default/kubernetes. Default: --bind-address, or that of the default network interface.")
	fs.StringVar(&o.EndpointReconciler, "endpoint-reconciler-type", o.EndpointReconciler,
		"How the endpoints of the Service default/kubernetes are kept: `TYPE` is lease, master-count (the same) or none.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile,
		"`File` with the certificate for HTTPS, followed by intermediates if any. Without it one is generated in the data "+
			"directory.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile,
		"`File` with the private key of --tls-cert-file.")
	fs.Var(cliflag.NewNamedCertKeyArray(&o.Named), "tls-sni-cert-key",
		"`Files` with a certificate and its private key, CERT,KEY or CERT,KEY:NAME,NAME, for clients "+
			"that ask for one of its names. May be repeated.")
	fs.StringVar(&o.Protocol.MinVersion, "tls-min-version", o.Protocol.MinVersion,
		"Lowest version of TLS: "+strings.Join(cliflag.TLSPossibleVersions(), ", ")+". Default: VersionTLS12.")
	fs.StringSliceVar(&o.Protocol.CipherSuites, "tls-cipher-suites", o.Protocol.CipherSuites,
		"Cipher suites for TLS up to 1.2, comma separated, by their names in Go's crypto/tls.")
	fs.Int32SliceVar(&o.Protocol.Curves, "tls-curve-preferences", o.Protocol.Curves,
		"Key exchanges, comma separated, by their numbers (CurveID) in Go's crypto/tls.")
	fs.StringSliceVar(&o.SANs, "tls-san", o.SANs,
		"Name or IP address to add to the generated serving certificate. May be repeated.")
	fs.IntVar(&o.HTTP2MaxStreams, "http2-max-streams-per-connection", o.HTTP2MaxStreams,
		"Limit of concurrent requests in one HTTP/2 connection; 0 means the library's default.")
	fs.StringSliceVar(&o.CORSOrigins, "cors-allowed-origins", o.CORSOrigins,
		"Regular expressions of the origins allowed for CORS, comma separated. Without any, CORS is off.")
	fs.StringSliceVar(&o.HSTSDirectives, "strict-transport-security-directives", o.HSTSDirectives,
		"Directives for HSTS, comma separated, such as max-age=31536000,includeSubDomains,preload. Without any, HSTS is off.")
	fs.Float64Var(&o.GoawayChance, "goaway-chance", o.GoawayChance,
		"Probability, 0 to 0.02, that a request's HTTP/2 client is sent a GOAWAY and reconnects, perhaps to another replica.")
}

func (o *RequestOptions) addFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.Timeout, "request-timeout", o.Timeout,
		"Time after which a request is answered with a timeout. It does not apply to watches, see --min-request-timeout.")
	fs.IntVar(&o.MinTimeout, "min-request-timeout", o.MinTimeout,
		"Minimum number of seconds that a watch stays open. The server ends it at a random time between this and twice this.")
	fs.IntVar(&o.MaxInFlight, "max-requests-inflight", o.MaxInFlight,
		"Maximum number of reads in flight; large lists count as several, and one user gets at most two thirds. Excess "+
			"requests get 429. 0 for no limit.")
	fs.IntVar(&o.MaxMutatingInFlight, "max-mutating-requests-inflight", o.MaxMutatingInFlight,
		"Maximum number of writes in flight; large bodies count as several, and one user gets at most two thirds. Excess "+
			"requests get 429. 0 for no limit.")
	fs.Var(&o.MaxMemory, "max-request-memory",
		"Memory that large requests may take together while they are worked on, such as 512Mi; at most half of a memory "+
			"limit. Excess requests wait, then get 429. 0 for no limit.")
	fs.DurationVar(&o.ShutdownDelay, "shutdown-delay-duration", o.ShutdownDelay,
		"Time for which a stopping server still serves requests while /readyz fails, so that load balancers notice.")
}

func (o *ResourceOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Builtin, "builtin-resources", o.Builtin,
		"Resources besides custom ones: `none`, essential (namespaces, Secrets, ConfigMaps, Leases, Events, ...) or all. "+
			"Default: essential; none behind an aggregator or with a host cluster.")
	fs.Var(&o.RuntimeConfig, "runtime-config",
		"Built-in resources to switch on or off, comma separated: `KEY=BOOL`, where the key "+
			"is api/all, api/ga, api/beta, api/alpha, group/version or group/version/resource.")
	fs.StringVar(&o.ServiceClusterIPRange, "service-cluster-ip-range", o.ServiceClusterIPRange,
		"Addresses of Services: a `CIDR`, or two of both IP families, comma separated.")
	fs.Var(&o.ServiceNodePortRange, "service-node-port-range",
		"Node ports of Services: a range such as 30000-32767.")
	fs.DurationVar(&o.EventTTL, "event-ttl", o.EventTTL, "Time after which events are deleted.")
	fs.IntVar(&o.DeleteCollectionWorkers, "delete-collection-workers", o.DeleteCollectionWorkers,
		"Workers for one deletecollection request.")
	fs.StringSliceVar(&o.Controllers, "controllers", o.Controllers,
		"Controllers to run, comma separated: * for all, name for one, -name to leave one out. They are "+
			strings.Join(controllerNames, ", ")+".")
	fs.Var(&o.SchemaCache, "schema-cache-size",
		"Memory for compiled schemas (validators, rules, types) of all CRDs together, such as 256Mi. The least recently "+
			"used ones are dropped and compiled again when needed.")
	fs.BoolVar(&o.ProtectCRDs, "protect-crds", o.ProtectCRDs,
		"Refuses to delete CustomResourceDefinitions that have objects, unless they have the annotation "+
			"crd-server.io/protect=false. Without the flag, only those with crd-server.io/protect=true are protected.")
	collects := fs.VarPF(&o.GarbageCollection, "enable-garbage-collector", "",
		"Implements orphan and foreground deletion by finalizers, and deletes the dependents of deleted owners. Without "+
			"built-in resources, a garbage collector beside the server has to do the work. Default: true with built-in "+
			"resources.")
	collects.NoOptDefVal = "true"
	collects.DefValue = "false" // the help prints no default
}

func (o *Options) addFeatureFlags(fs *pflag.FlagSet) {
	fs.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates",
		"Features of the Kubernetes libraries, as `key=bool` pairs, comma separated.")
	fs.StringVar(&o.EmulatedVersion, "emulated-version", o.EmulatedVersion,
		"Kubernetes `release` that the Kubernetes libraries emulate, such as 1.36.")
	fs.StringVar(&o.TracingFile, "tracing-config-file", o.TracingFile,
		"`File` with a TracingConfiguration: the OTLP endpoint that gets spans of requests, and the sampling rate.")
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling, "Serves profiles at /debug/pprof/.")
}

// hideAlphaLogFlags hides flags that need an alpha feature gate from --help.
func hideAlphaLogFlags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) {
		if len(f.Usage) > 7 && f.Usage[:7] == "[Alpha]" {
			f.Hidden = true
		}
	})
}
