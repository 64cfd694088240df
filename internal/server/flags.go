package server

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Flags returns the flags that fill o, in named groups. Flags that kube-apiserver has too carry its names and meanings.
func (o *Options) Flags() *cliflag.NamedFlagSets {
	groups := &cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	o.addGenericFlags(groups.FlagSet("generic"))
	o.Serving.addFlags(groups.FlagSet("secure serving"))
	o.Authentication.AddFlags(groups.FlagSet("authentication"))
	o.Authorization.AddFlags(groups.FlagSet("authorization"))
	o.Admission.AddFlags(groups.FlagSet("admission"))
	o.Audit.AddFlags(groups.FlagSet("audit"))
	o.Aggregator.AddFlags(groups.FlagSet("aggregator"))
	o.Etcd.addFlags(groups.FlagSet("etcd"))
	o.Encryption.AddFlags(groups.FlagSet("etcd"))
	o.Requests.addFlags(groups.FlagSet("requests"))
	o.Resources.addFlags(groups.FlagSet("custom resources"))
	o.addFeatureFlags(groups.FlagSet("features"))
	logsapi.AddFlags(o.Logs.LoggingConfiguration, groups.FlagSet("logs"))
	hideAlphaLogFlags(groups.FlagSet("logs"))
	return groups
}

func (o *Options) addGenericFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Directory (`path`) of the certificates, the admin kubeconfig and the embedded etcd. Created when missing.")
	fs.StringArrayVar(&o.CRDs, "crds", o.CRDs,
		"File or directory (`path`) of CustomResourceDefinitions (YAML or JSON) to apply before the server is ready. May be repeated.")
}

func (o *ServingOptions) addFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.BindAddress, "bind-address", o.BindAddress,
		"IP address to listen on; 0.0.0.0 or :: for all interfaces.")
	fs.IntVar(&o.SecurePort, "secure-port", o.SecurePort,
		"Port for HTTPS with authentication and authorization; 0 takes any free one.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile,
		"`File` with the certificate for HTTPS, followed by intermediates if any. Without it one is generated in the data directory.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile,
		"`File` with the private key of --tls-cert-file.")
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

func (o *EtcdOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Servers, "etcd-servers", o.Servers,
		"Servers of an external etcd (scheme://ip:port), comma separated. Without any, etcd runs in this process.")
	fs.StringVar(&o.CAFile, "etcd-cafile", o.CAFile, "`File` with the authority of the etcd servers' certificates.")
	fs.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "`File` with the client certificate for etcd.")
	fs.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "`File` with the private key of --etcd-certfile.")
	fs.StringVar(&o.Prefix, "etcd-prefix", o.Prefix, "Prefix of all keys in etcd.")
	fs.DurationVar(&o.CompactionInterval, "etcd-compaction-interval", o.CompactionInterval,
		"`Interval` of compactions of the external etcd; 0 leaves them to others. The etcd in this process compacts itself.")
	fs.DurationVar(&o.CheckInterval, "cache-consistency-check-interval", o.CheckInterval,
		"`Interval` at which what is in memory is compared with etcd; what differs is logged as an error, and counted. 0: never.")
}

func (o *RequestOptions) addFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.Timeout, "request-timeout", o.Timeout,
		"Time a request may take before it is answered with a timeout; not for watches, see --min-request-timeout.")
	fs.IntVar(&o.MinTimeout, "min-request-timeout", o.MinTimeout,
		"Seconds that a watch stays open at least; the server ends it at a random time between this and twice this.")
	fs.IntVar(&o.MaxInFlight, "max-requests-inflight", o.MaxInFlight,
		"Reads handled at one time, of which one user gets two thirds, and large lists count as several; more are refused with 429. 0 for no limit.")
	fs.IntVar(&o.MaxMutatingInFlight, "max-mutating-requests-inflight", o.MaxMutatingInFlight,
		"Writes handled at one time, of which one user gets two thirds, and large bodies count as several; more are refused with 429. 0 for no limit.")
	fs.DurationVar(&o.ShutdownDelay, "shutdown-delay-duration", o.ShutdownDelay,
		"Time to go on serving, with /readyz failing, after the server was asked to stop, so that load balancers notice.")
}

func (o *ResourceOptions) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.DeleteCollectionWorkers, "delete-collection-workers", o.DeleteCollectionWorkers,
		"Workers for one deletecollection request.")
	fs.Var(&o.SchemaCache, "schema-cache-size",
		"Memory for compiled schemas (validators, rules, types) of all CRDs together, such as 256Mi; those not used for longest are compiled anew when needed.")
	fs.BoolVar(&o.GarbageCollection, "enable-garbage-collector", o.GarbageCollection,
		"Honours orphan and foreground deletion by finalizers; needs a garbage collector that runs beside the server.")
}

func (o *Options) addFeatureFlags(fs *pflag.FlagSet) {
	fs.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates",
		"Features of the Kubernetes libraries to switch, as `key=bool` pairs, comma separated.")
	fs.StringVar(&o.EmulatedVersion, "emulated-version", o.EmulatedVersion,
		"Kubernetes `release`, such as 1.36, whose features the Kubernetes libraries show instead of their own release's.")
	fs.StringVar(&o.TracingFile, "tracing-config-file", o.TracingFile,
		"`File` with a TracingConfiguration: where spans of requests are sent to, by OTLP, and how many.")
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling, "Serves profiles at /debug/pprof/.")
}

// hideAlphaLogFlags leaves out of --help what works behind an alpha gate only.
func hideAlphaLogFlags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) {
		if len(f.Usage) > 7 && f.Usage[:7] == "[Alpha]" {
			f.Hidden = true
		}
	})
}

// Command is a parsed command line.
type Command struct {
	// Help and Version say that the person asked only for them.
	Help, Version bool
	groups        *cliflag.NamedFlagSets
}

// Parse fills o from the command line's arguments (without the program's name).
func (o *Options) Parse(args []string) (*Command, error) {
	c := &Command{groups: o.Flags()}
	about := c.groups.FlagSet("about")
	about.BoolVarP(&c.Help, "help", "h", false, "Prints this help.")
	about.BoolVar(&c.Version, "version", false, "Prints the version.")

	all := pflag.NewFlagSet("crd-server", pflag.ContinueOnError)
	all.SetOutput(io.Discard)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, name := range c.groups.Order {
		all.AddFlagSet(c.groups.FlagSets[name])
	}
	if err := all.Parse(args); err != nil {
		return nil, err
	}
	o.flags = *c.groups
	if all.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: crd-server takes flags only", all.Arg(0))
	}
	return c, nil
}

// PrintHelp writes the usage, flags by group, wrapped at columns (0: not wrapped).
func (c *Command) PrintHelp(w io.Writer, columns int) {
	fmt.Fprint(w, `crd-server serves Kubernetes custom resources, and nothing else: apply a CustomResourceDefinition, and its
resources can be used with kubectl and every Kubernetes client. No flag is needed.

Usage:
  crd-server [flags]
`)
	cliflag.PrintSections(w, *c.groups, columns)
}
