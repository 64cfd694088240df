package admission

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotaconfig "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaultingressclass"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaultstorageclass"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaulttolerationseconds"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/limitranger"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/persistentvolumeclaimresize"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/podsecurity"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/priority"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/serviceaccount"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/storageobjectinuseprotection"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/taintnodesbycondition"
)

// Options configures the plugins. Flags have the names and meanings of kube-apiserver's and extension API servers'.
type Options struct {
	// ConfigFile is an AdmissionConfiguration. Among others it names the directories with manifests of webhooks and
	// policies.
	ConfigFile string
	// Enable and Disable are names of plugins.
	Enable, Disable []string
	// Kubeconfig names the host cluster, whose webhooks, policies and namespaces are used.
	Kubeconfig string
}

// order is the order of the plugins.
var order = []string{
	lifecycle.PluginName,
	mutatingpolicy.PluginName,
	mutatingwebhook.PluginName,
	validatingpolicy.PluginName,
	validatingwebhook.PluginName,
	resourcequota.PluginName,
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"`File` with an AdmissionConfiguration; it can name directories with manifests of webhooks and policies "+
			"(staticManifestsDir).")
	fs.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"Admission plugins to enable besides the default ones, comma separated: "+names()+".")
	fs.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable, "Admission plugins to disable, comma separated.")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"`File` (a kubeconfig) of the host cluster, whose admission webhooks, policies and namespaces count here too.")
}

// names returns the names of all plugins.
func names() string { return strings.Join(slices.Concat(order, kinds), ", ") }

// kinds are the plugins for single built-in resources. They are on by default, except off.
var kinds = []string{
	limitranger.Name, serviceaccount.Name, podsecurity.Name, defaultingressclass.Name, defaulttolerationseconds.Name,
	priority.Name, taintnodesbycondition.Name, defaultstorageclass.Name, persistentvolumeclaimresize.Name,
	storageobjectinuseprotection.Name,
}

// off are those of kinds that are not on by default. The finalizers of StorageObjectInUseProtection are removed by
// controllers of a cluster: without these, objects would stay for ever when they are deleted.
var off = []string{storageobjectinuseprotection.Name}

// Has reports whether there is a plugin of this name.
func Has(plugin string) bool {
	return slices.Contains(order, plugin) || slices.Contains(kinds, plugin)
}

// Enabled reports whether a plugin for single built-in resources is enabled.
func (o *Options) Enabled(plugin string) bool { return o.has(plugin, !slices.Contains(off, plugin)) }

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	for flag, given := range map[string][]string{
		"--enable-admission-plugins":  o.Enable,
		"--disable-admission-plugins": o.Disable,
	} {
		for _, name := range given {
			if !Has(name) {
				errs = append(errs, fmt.Errorf("%s: %q is none of %s", flag, name, names()))
			}
		}
	}
	for _, name := range o.Enable {
		if slices.Contains(o.Disable, name) {
			errs = append(errs, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins both name %s", name))
		}
	}
	return errs
}

// HasNamespaceLifecycle reports whether the plugin NamespaceLifecycle is enabled by flags, or not disabled by them if
// byDefault is set.
func (o *Options) HasNamespaceLifecycle(byDefault bool) bool {
	return o.has(lifecycle.PluginName, byDefault)
}

// HasResourceQuota is HasNamespaceLifecycle for the plugin ResourceQuota.
func (o *Options) HasResourceQuota(byDefault bool) bool {
	return o.has(resourcequota.PluginName, byDefault)
}

// QuotaConfiguration returns the configuration of the plugin ResourceQuota in the file; nil without a file.
func (o *Options) QuotaConfiguration() (*quotaconfig.Configuration, error) {
	reader, err := o.PluginConfiguration(resourcequota.PluginName)
	if o.ConfigFile == "" || err != nil {
		return nil, err
	}
	config, err := resourcequota.LoadConfiguration(reader)
	if err == nil {
		err = validation.ValidateConfiguration(config).ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %s: %w", o.ConfigFile, resourcequota.PluginName, err)
	}
	return config, nil
}

// PluginConfiguration returns the configuration of a plugin in the file; nil if there is none.
func (o *Options) PluginConfiguration(plugin string) (io.Reader, error) {
	provider, err := admission.ReadAdmissionConfiguration([]string{plugin}, o.ConfigFile, configScheme)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %w", o.ConfigFile, err)
	}
	reader, err := provider.ConfigFor(plugin)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %w", o.ConfigFile, err)
	}
	return reader, nil
}

func (o *Options) has(plugin string, byDefault bool) bool {
	return slices.Contains(o.Enable, plugin) || byDefault && !slices.Contains(o.Disable, plugin)
}

// plugins returns the names of the enabled plugins, in order. The default is all with a host cluster, with a
// configuration file, or if the server itself serves webhooks and policies, and none otherwise. NamespaceLifecycle is a
// plugin for the namespaces of a host cluster only. ResourceQuota is none: it is for quotas of the server's own.
func (o *Options) plugins(servesRules bool) []string {
	var enabled []string
	for _, name := range order {
		if name == lifecycle.PluginName && o.Kubeconfig == "" {
			continue // the server's own namespaces have a lifecycle of their own
		}
		if name != resourcequota.PluginName && o.has(name, servesRules || o.Kubeconfig != "" || o.ConfigFile != "") {
			enabled = append(enabled, name)
		}
	}
	return enabled
}
