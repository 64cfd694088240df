package kubeapiserver

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server"
)

// Options are the flags of kube-apiserver. Most of them are flags of the server.
type Options struct {
	server *server.Options

	// certDir has the serving certificate, unless flags name another one. It is created if it is missing.
	certDir string
	// externalHost is a name of a generated serving certificate, as the address that is advertised.
	externalHost string
	// gates are feature gates by component, as NAME=BOOL.
	gates map[string][]string
	// admissionControl is the old form of the flags for admission plugins: all that are enabled.
	admissionControl []string

	// unused has the flags that mean nothing here.
	unused *pflag.FlagSet
}

// NewOptions returns the defaults of kube-apiserver, for a server with the given options. It changes them.
func NewOptions(o *server.Options) *Options {
	o.DataDir = "" // a temporary one
	o.Serving.BindAddress = net.IPv4zero
	o.Resources.Builtin = builtin.TierAll
	o.KubeAPIServer = true
	o.Resources.Controllers = nil // kube-controller-manager has them
	o.Resources.GarbageCollection = cliflag.True
	o.Authorization.OnlyModes, o.Authorization.AlwaysAllowPaths = true, nil
	return &Options{server: o, certDir: "/var/run/kubernetes"}
}

// Flags returns the flags in named groups.
func (o *Options) Flags() *cliflag.NamedFlagSets {
	groups := &cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	o.addFlags(groups.FlagSet("kube-apiserver"))
	from := o.server.Flags()
	for _, name := range from.Order {
		group := groups.FlagSet(name)
		from.FlagSets[name].VisitAll(func(flag *pflag.Flag) {
			if slices.Contains(readTables().Served, flag.Name) {
				group.AddFlag(flag)
			}
		})
	}
	o.unused = groups.FlagSet("accepted")
	readTables().addUnused(o.unused)
	return groups
}

func (o *Options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.certDir, "cert-dir", o.certDir,
		"Directory (`path`) with apiserver.crt and apiserver.key. They are generated if they are missing. "+
			"--tls-cert-file and --tls-private-key-file take precedence.")
	fs.StringVar(&o.externalHost, "external-hostname", o.externalHost,
		"Name or address to add to a generated certificate.")
	fs.Var(cliflag.NewColonSeparatedMultimapStringStringAllowDefaultEmptyKey(&o.gates), "feature-gates",
		"Feature gates of Kubernetes, as `key=bool` pairs, comma separated. Those of other components than the "+
			"Kubernetes libraries have no effect.")
	fs.BoolVar(&o.server.Resources.WatchCache, "watch-cache", o.server.Resources.WatchCache,
		"If false, limits also hold for lists at resourceVersion 0. The server has a cache in any case.")
	fs.StringVar(&o.server.Authentication.EgressFile, "egress-selector-config-file", o.server.Authentication.EgressFile,
		"`File` with an EgressSelectorConfiguration. It is for issuers of OpenID Connect that name an egress.")
	fs.StringSliceVar(&o.admissionControl, "admission-control", o.admissionControl,
		"All admission plugins that are enabled, comma separated. Deprecated: use --enable-admission-plugins and "+
			"--disable-admission-plugins.")
}

// Complete sets the options of the server by the flags that were parsed, and returns them.
func (o *Options) Complete() (*server.ValidOptions, error) {
	if len(o.server.Etcd.Servers) == 0 {
		return nil, errors.New("--etcd-servers must be specified")
	}
	features, err := o.completeFeatures()
	if err != nil {
		return nil, err
	}
	plugins, err := o.completeAdmission()
	if err != nil {
		return nil, err
	}
	o.server.Unused = slices.Concat(o.unusedFlags(), features, plugins, o.completeAccess(), o.completeAudit())
	serving := &o.server.Serving
	fromCertDir := serving.CertFile == "" && serving.KeyFile == ""
	if fromCertDir {
		serving.CertFile = filepath.Join(o.certDir, "apiserver.crt")
		serving.KeyFile = filepath.Join(o.certDir, "apiserver.key")
	}
	valid, err := o.server.Validate()
	if err != nil {
		return nil, err
	}
	if fromCertDir {
		err = o.generateMissing(serving.CertFile, serving.KeyFile)
	}
	return valid, err
}

// unusedFlags returns the flags that were given and mean nothing here.
func (o *Options) unusedFlags() (names []string) {
	o.unused.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// completeAccess sets kube-apiserver's defaults: everything is allowed, unless there are other authorizers; then
// requests without a credential are those of an anonymous user. It leaves out the headers of front proxies without an
// authority for them, as kube-apiserver does, and returns what has no effect.
func (o *Options) completeAccess() (without []string) {
	modes := &o.server.Authorization.Modes
	if len(*modes) == 0 && o.server.Authorization.ConfigFile == "" {
		*modes = []string{authorization.ModeAlwaysAllow}
	}
	o.server.Authentication.AnonymousByDefault = !slices.Contains(*modes, authorization.ModeAlwaysAllow)
	if slices.Contains(*modes, authorization.ModeNode) {
		without = append(without, "--authorization-mode="+authorization.ModeNode)
	}
	if proxy := &o.server.Authentication.FrontProxy; proxy.ClientCAFile == "" && proxy.Used() {
		*proxy, without = authentication.FrontProxyOptions{}, append(without, "--requestheader-...")
	}
	return without
}

// completeAudit leaves out a policy without a backend, and a backend without a policy, as kube-apiserver does. It
// returns their flags.
func (o *Options) completeAudit() (without []string) {
	a := &o.server.Audit
	if a.PolicyFile != "" && a.Log.Path == "" && a.Webhook.ConfigFile == "" {
		a.PolicyFile, without = "", append(without, "--audit-policy-file")
	}
	if a.PolicyFile != "" {
		return without
	}
	if a.Log.Path != "" {
		a.Log.Path, without = "", append(without, "--audit-log-path")
	}
	if a.Webhook.ConfigFile != "" {
		a.Webhook.ConfigFile, without = "", append(without, "--audit-webhook-config-file")
	}
	return without
}

// completeFeatures gives the server the feature gates that its libraries have. It returns the others.
func (o *Options) completeFeatures() (without []string, err error) {
	known := cliflag.NewMapStringBool(&o.server.FeatureGates)
	for component, gates := range o.gates {
		if component != "" && component != "kube" {
			return nil, fmt.Errorf("--feature-gates: component %q is not kube", component)
		}
		for _, gate := range gates {
			name, _, _ := strings.Cut(gate, "=")
			target := known
			if slices.Contains(readTables().Features, name) && !server.HasFeature(name) {
				without = append(without, "--feature-gates="+gate)
				target = cliflag.NewMapStringBool(&map[string]bool{})
			}
			if err := target.Set(gate); err != nil {
				return nil, fmt.Errorf("--feature-gates: %w", err)
			}
		}
	}
	return without, nil
}
