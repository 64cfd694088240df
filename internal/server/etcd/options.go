package etcd

import (
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/spf13/pflag"
)

// Options says where objects are stored.
type Options struct {
	// Servers are the endpoints of an external cluster. Without any, etcd runs in this process.
	Servers []string
	// CAFile holds the authority of the cluster's certificates.
	CAFile string
	// CertFile and KeyFile are the client certificate for the external cluster.
	CertFile, KeyFile string
	// Prefix is the prefix of all keys; see Root.
	Prefix string
	// CompactionInterval is how often etcd is compacted; 0: never.
	CompactionInterval time.Duration
	// CheckInterval is how often the cache is compared with etcd; 0: never.
	CheckInterval time.Duration
	// CheckViews also compares what is served of objects, and does so after every write.
	CheckViews bool
}

// NewOptions returns the defaults.
func NewOptions() Options {
	return Options{Prefix: "/registry", CompactionInterval: 5 * time.Minute}
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Servers, "etcd-servers", o.Servers,
		"Servers of an external etcd (scheme://ip:port or unix:///path), comma separated. Without any, etcd runs in this "+
			"process.")
	fs.StringVar(&o.CAFile, "etcd-cafile", o.CAFile, "`File` with the authority of the etcd servers' certificates.")
	fs.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "`File` with the client certificate for etcd.")
	fs.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "`File` with the private key of --etcd-certfile.")
	fs.StringVar(&o.Prefix, "etcd-prefix", o.Prefix, "Prefix of all keys in etcd.")
	fs.DurationVar(&o.CompactionInterval, "etcd-compaction-interval", o.CompactionInterval,
		"`Interval` of compactions of etcd; 0 disables them.")
	fs.DurationVar(&o.CheckInterval, "cache-consistency-check-interval", o.CheckInterval,
		"`Interval` at which the cache is compared with etcd. Differences are logged as errors and counted. 0: never.")
	fs.BoolVar(&o.CheckViews, "cache-consistency-check-views", o.CheckViews,
		"Compare what is served of written objects with what is read of their stored values, then and after each write.")
}

// isEndpoint reports whether a string is the address of an etcd server: a host, or the absolute path of a socket.
func isEndpoint(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "unix":
		return u.Host == "" && path.IsAbs(u.Path)
	}
	return false
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	add := func(made bool, format string, args ...any) {
		if made {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, server := range o.Servers {
		add(!isEndpoint(server), "--etcd-servers: %q is not of the form http://HOST:PORT, https://HOST:PORT or unix:///PATH",
			server)
	}
	add((o.CertFile == "") != (o.KeyFile == ""), "--etcd-certfile and --etcd-keyfile must be given together")
	add(len(o.Servers) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != ""),
		"--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers")
	add(o.Root() == "/", "--etcd-prefix must name something, not %q", o.Prefix)
	add(o.CompactionInterval < 0, "--etcd-compaction-interval must not be negative, not %v", o.CompactionInterval)
	add(o.CheckInterval < 0, "--cache-consistency-check-interval must not be negative, not %v", o.CheckInterval)
	return errs
}

// Root returns the prefix of all keys, with a leading slash and without a trailing one.
func (o *Options) Root() string { return path.Join("/", o.Prefix) }
