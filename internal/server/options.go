package server

import (
	"context"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/access/audit"
	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/controllers/apiservices"
	"github.com/crd-server/crd-server/internal/encryption"
	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/etcd"
	"github.com/crd-server/crd-server/internal/webhookservices"
)

// Options configures a server. NewOptions returns the defaults, which work without any flag.
type Options struct {
	// DataDir holds the certificates, the admin kubeconfig and, without Etcd.Servers and InMemory, the database.
	DataDir string
	// InMemory keeps objects in memory: they are gone when the server ends. Servers of one process share the memory, but
	// no objects. DataDir may be empty then; a temporary directory, removed at the end, takes its place.
	InMemory bool
	// CRDs are files and directories whose CustomResourceDefinitions are applied before the server is ready.
	CRDs []string
	// Definitions are further CustomResourceDefinitions to apply. The server does not change them.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	Serving        ServingOptions
	Authentication authentication.Options
	Authorization  authorization.Options
	Admission      admission.Options
	Services       webhookservices.Options
	// ServiceAccounts configures tokens of service accounts.
	ServiceAccounts serviceaccounts.Options
	Audit           audit.Options
	Encryption      encryption.Options
	Aggregator      apiservices.Options
	Etcd            etcd.Options
	Requests        RequestOptions
	Resources       ResourceOptions
	Logs            *logsapi.LoggingConfiguration

	// FeatureGates switches features of the Kubernetes libraries, by name.
	FeatureGates map[string]bool
	// EmulatedVersion is the Kubernetes release (major.minor) that the libraries emulate; "" is their own release.
	EmulatedVersion string
	// Profiling serves /debug/pprof.
	Profiling bool
	// TracingFile is a TracingConfiguration, which names the endpoint for spans of requests. Without one there are no
	// spans.
	TracingFile string

	// KubeAPIServer says that the server acts as kube-apiserver: it is named so, and keeps the Lease of one.
	KubeAPIServer bool

	// Unused are flags that were given and have no effect. Apply logs them.
	Unused []string

	// flags are what Flags has returned, for /flagz.
	flags cliflag.NamedFlagSets

	Extensions Extensions
	// Logger logs what concerns this server, as far as libraries let it. Without a sink the logger in Run's context does.
	Logger logr.Logger

	// Listener takes the place of the address in Serving; the server closes it. Most servers have none.
	Listener net.Listener

	// OnReady is called with the kubeconfig of the administrator, which has the certificates themselves, when the server
	// is ready. It takes the place of the line that Out gets, and of the message to systemd.
	OnReady func(kubeconfig []byte)
	// Out gets the line that reports that the server is ready.
	Out io.Writer
	// Started is when the process began; the ready line counts from it.
	Started time.Time
}

// ServingOptions configures the address and the certificate of the server.
type ServingOptions struct {
	certs.Config
	SecurePort int
	// AdvertiseAddress is where other clients of the cluster reach the server. By default it is BindAddress, or the
	// address of the default network interface if that is unspecified or of this machine only.
	AdvertiseAddress net.IP
	// EndpointReconciler is how servers keep the endpoints of their Service: lease, master-count (the same), or none.
	EndpointReconciler string
	// HTTP2MaxStreams bounds the concurrent streams of one connection; 0 leaves it to the HTTP/2 library.
	HTTP2MaxStreams int
	CORSOrigins     []string
	HSTSDirectives  []string
	// GoawayChance is the probability that the client of an HTTP/2 request is asked to reconnect, to spread clients
	// over replicas.
	GoawayChance float64
}

// RequestOptions bounds requests.
type RequestOptions struct {
	// Timeout bounds all requests that are not long-running.
	Timeout time.Duration
	// MinTimeout is the minimum duration of a watch in seconds. The server picks a time between this and twice this.
	MinTimeout int
	// MaxInFlight and MaxMutatingInFlight bound the reads and writes that are served at the same time; 0: no limit.
	MaxInFlight, MaxMutatingInFlight int
	// MaxMemory bounds the memory of large requests that are served at the same time, in bytes; 0: no limit.
	MaxMemory resource.QuantityValue
	// ShutdownDelay is how long a stopping server still serves requests while it is unready.
	ShutdownDelay time.Duration
	// ShutdownTimeout is how long it then waits for requests in flight; 0: for Timeout.
	ShutdownTimeout time.Duration
}

// ResourceOptions configures resources.
type ResourceOptions struct {
	// Builtin selects the built-in resources: none, essential or all. Empty: essential when the server stands alone, else
	// none.
	Builtin string
	// EventTTL is the time after which events are deleted.
	EventTTL                time.Duration
	DeleteCollectionWorkers int
	// ProtectCRDs refuses to delete any CRD that has objects, unless it has the annotation crd-server.io/protect: "false".
	ProtectCRDs bool
	// WatchCache is kube-apiserver's flag. The server always has a cache, but without the flag a limit also holds for
	// lists at resourceVersion 0.
	WatchCache bool
	// Controllers selects the controllers: "*" all, "name" one, "-name" not this one.
	Controllers []string
	// GarbageCollection implements orphan and foreground deletion by finalizers. If the server has built-in resources, it
	// also collects garbage; else a garbage collector beside it has to. The default is to do so with built-in resources.
	GarbageCollection cliflag.Tristate
	// RuntimeConfig switches built-in resources on and off: api/all, group/version or group/version/resource, and true
	// or false.
	RuntimeConfig cliflag.ConfigurationMap
	// ServiceClusterIPRange has the addresses of Services: one CIDR, or two of both families, comma separated.
	ServiceClusterIPRange string
	// ServiceNodePortRange has the node ports of Services.
	ServiceNodePortRange utilnet.PortRange
	// SchemaCache bounds the memory of compiled schemas, in bytes.
	SchemaCache resource.QuantityValue
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		DataDir: "crd-server.data",
		Serving: ServingOptions{
			Config:          certs.Config{BindAddress: net.IPv4(127, 0, 0, 1)},
			SecurePort:      6443,
			HTTP2MaxStreams: 1000,

			EndpointReconciler: reconcilerLease,
		},
		Authentication:  authentication.NewOptions(),
		Authorization:   authorization.NewOptions(),
		ServiceAccounts: serviceaccounts.NewOptions(),
		Audit:           audit.NewOptions(),
		Etcd:            etcd.NewOptions(),
		Requests: RequestOptions{
			Timeout:             time.Minute,
			MinTimeout:          1800,
			MaxInFlight:         400,
			MaxMutatingInFlight: 200,
			MaxMemory:           resource.QuantityValue{Quantity: resource.MustParse("512Mi")},
		},
		Resources: ResourceOptions{
			EventTTL:                time.Hour,
			DeleteCollectionWorkers: 1,
			WatchCache:              true,
			Controllers:             []string{"*"},
			RuntimeConfig:           cliflag.ConfigurationMap{},
			ServiceClusterIPRange:   "10.0.0.0/24",
			ServiceNodePortRange:    allocator.DefaultNodePorts,
			SchemaCache:             resource.QuantityValue{Quantity: resource.MustParse("256Mi")},
		},
		Logs:         logsapi.NewLoggingConfiguration(),
		FeatureGates: map[string]bool{},
		Profiling:    true,
		Out:          os.Stdout,
		Started:      time.Now(),
	}
}

// forRun returns a copy with what belongs to one run: a logger, by default that of the context, and in memory a prefix.
func (o *ValidOptions) forRun(ctx context.Context) *ValidOptions {
	c := *o
	if c.Logger.GetSink() == nil {
		c.Logger = klog.FromContext(ctx)
	}
	if c.InMemory {
		c.Etcd.OwnPrefix()
	}
	return &c
}

// hasHost reports whether the server belongs to a cluster, which has the built-in resources.
func (o *Options) hasHost() bool {
	return o.Aggregator.Kubeconfig != "" || o.Admission.Kubeconfig != "" || o.Authorization.Kubeconfig != "" ||
		o.Authentication.Delegated.Kubeconfig != ""
}

// builtinTier returns the tier of built-in resources that the server has.
func (o *Options) builtinTier() string {
	switch {
	case o.Resources.Builtin != "":
		return o.Resources.Builtin
	case o.hasHost():
		return builtin.None
	}
	return builtin.TierEssential
}

// authorization returns the options of authorization. A server that stands alone decides by its roles, unless other
// authorizers are configured.
func (o *Options) authorization() *authorization.Options {
	configured := o.Authorization
	if len(configured.Modes) == 0 && configured.ConfigFile == "" && !o.hasHost() && o.builtinTier() != builtin.None {
		configured.Modes = []string{authorization.ModeRBAC}
	}
	return &configured
}

// garbageCollection reports whether a collector runs, in the server or beside it.
func (o *Options) garbageCollection() bool {
	if o.Resources.GarbageCollection == cliflag.Unset {
		return o.builtinTier() != builtin.None
	}
	return o.Resources.GarbageCollection == cliflag.True
}

// certificates returns what the options say about certificates.
func (o *Options) certificates() *certs.Config {
	c := o.Serving.Config
	c.ClientCAFile = o.Authentication.ClientCAFile
	return &c
}

// memory returns the memory for large requests in bytes: MaxMemory, but at most half of the memory limit.
func (o *RequestOptions) memory() int64 {
	return min(o.MaxMemory.Value(), debug.SetMemoryLimit(-1)/2) // a negative limit changes nothing
}
