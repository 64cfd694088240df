package server

import (
	"io"
	"net"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/crd-server/crd-server/internal/admission"
	"github.com/crd-server/crd-server/internal/apiservices"
	"github.com/crd-server/crd-server/internal/audit"
	"github.com/crd-server/crd-server/internal/authentication"
	"github.com/crd-server/crd-server/internal/authorization"
	"github.com/crd-server/crd-server/internal/encryption"
)

// Options is everything a person can decide about a server. NewOptions gives the defaults, with which no flag is needed.
type Options struct {
	// DataDir holds the certificates, the admin kubeconfig and, without Etcd.Servers, the database.
	DataDir string
	// CRDs are files and directories whose CustomResourceDefinitions are applied before the server is ready.
	CRDs []string

	Serving        ServingOptions
	Authentication authentication.Options
	Authorization  authorization.Options
	Admission      admission.Options
	Audit          audit.Options
	Encryption     encryption.Options
	Aggregator     apiservices.Options
	Etcd           EtcdOptions
	Requests       RequestOptions
	Resources      ResourceOptions
	Logs           LogOptions

	// FeatureGates switches features of the Kubernetes libraries, by name.
	FeatureGates map[string]bool
	// EmulatedVersion is the Kubernetes release (major.minor) whose features the libraries show; "" is that of the libraries.
	EmulatedVersion string
	// Profiling serves /debug/pprof.
	Profiling bool
	// TracingFile is a TracingConfiguration: where spans of requests are sent to. Without one there are none.
	TracingFile string

	// flags are those that were parsed, for /flagz.
	flags cliflag.NamedFlagSets

	// Out receives the one line that says the server is ready.
	Out io.Writer
	// Started is when the process began; the ready line counts from it.
	Started time.Time
}

// ServingOptions says where and with which certificate the server listens.
type ServingOptions struct {
	BindAddress net.IP
	SecurePort  int
	// CertFile and KeyFile replace the generated serving certificate.
	CertFile, KeyFile string
	// SANs are names and addresses added to the generated serving certificate.
	SANs []string
	// HTTP2MaxStreams bounds the concurrent streams of one connection; 0 leaves it to the HTTP/2 library.
	HTTP2MaxStreams int
	CORSOrigins     []string
	HSTSDirectives  []string
	// GoawayChance is the probability that a request's HTTP/2 connection is asked to reconnect, to spread clients over replicas.
	GoawayChance float64
}

// EtcdOptions says where objects are stored.
type EtcdOptions struct {
	// Servers are the endpoints of an external cluster. Without any, etcd runs in this process.
	Servers []string
	CAFile  string
	// CertFile and KeyFile are the client certificate for the external cluster.
	CertFile, KeyFile string
	Prefix            string
	// CompactionInterval is how often an external cluster is compacted; 0: never.
	CompactionInterval time.Duration
	// CheckInterval is how often what is in memory is compared with etcd; 0: never.
	CheckInterval time.Duration
}

// RequestOptions bounds requests.
type RequestOptions struct {
	// Timeout is the longest a request may take unless it is long-running.
	Timeout time.Duration
	// MinTimeout is the shortest time, in seconds, after which a watch is ended; the server picks one up to twice as long.
	MinTimeout int
	// MaxInFlight and MaxMutatingInFlight bound the reads and writes that are served at one time; 0: no limit.
	MaxInFlight, MaxMutatingInFlight int
	// ShutdownDelay is how long the server goes on serving, unready, after it was asked to stop.
	ShutdownDelay time.Duration
}

// ResourceOptions is about the custom resources themselves.
type ResourceOptions struct {
	DeleteCollectionWorkers int
	// GarbageCollection makes deletions honour orphan and foreground propagation by finalizers, which needs a garbage
	// collector beside the server to take them away again.
	GarbageCollection bool
	// SchemaCache bounds the memory, in bytes, of compiled schemas.
	SchemaCache resource.QuantityValue
}

// LogOptions is component-base's logging configuration.
type LogOptions struct{ *logsapi.LoggingConfiguration }

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		DataDir: "crd-server.data",
		Serving: ServingOptions{
			BindAddress:     net.IPv4(127, 0, 0, 1),
			SecurePort:      6443,
			HTTP2MaxStreams: 1000,
		},
		Authentication: authentication.NewOptions(),
		Authorization:  authorization.NewOptions(),
		Audit:          audit.NewOptions(),
		Etcd:           EtcdOptions{Prefix: "/registry", CompactionInterval: 5 * time.Minute},
		Requests: RequestOptions{
			Timeout:             time.Minute,
			MinTimeout:          1800,
			MaxInFlight:         400,
			MaxMutatingInFlight: 200,
		},
		Resources:    ResourceOptions{DeleteCollectionWorkers: 1, SchemaCache: resource.QuantityValue{Quantity: resource.MustParse("256Mi")}},
		Logs:         LogOptions{logsapi.NewLoggingConfiguration()},
		FeatureGates: map[string]bool{},
		Profiling:    true,
		Out:          os.Stdout,
		Started:      time.Now(),
	}
}
