package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
)

// Options say who is asked. The names of the flags and what they mean are kube-apiserver's and its extension servers'.
type Options struct {
	// ConfigFile is an AdmissionConfiguration: among other things the directories with manifests of webhooks and policies.
	ConfigFile string
	// Enable and Disable are names of plugins.
	Enable, Disable []string
	// Kubeconfig leads to the host cluster, whose webhooks, policies and namespaces count.
	Kubeconfig string
}

// order is that in which plugins are asked.
var order = []string{
	lifecycle.PluginName,
	mutatingpolicy.PluginName,
	mutatingwebhook.PluginName,
	validatingpolicy.PluginName,
	validatingwebhook.PluginName,
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"`File` with an AdmissionConfiguration; it can name directories with manifests of webhooks and policies (staticManifestsDir).")
	fs.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable, "Plugins of admission to enable beside the default ones, comma separated: "+strings.Join(order, ", ")+".")
	fs.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable, "Plugins of admission to disable, comma separated.")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"`File` (a kubeconfig) of the host cluster, whose admission webhooks, policies and namespaces count here too.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	for flag, names := range map[string][]string{"--enable-admission-plugins": o.Enable, "--disable-admission-plugins": o.Disable} {
		for _, name := range names {
			if !slices.Contains(order, name) {
				errs = append(errs, fmt.Errorf("%s: %q is none of %s", flag, name, strings.Join(order, ", ")))
			}
		}
	}
	for _, name := range o.Enable {
		if slices.Contains(o.Disable, name) {
			errs = append(errs, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins both name %s", name))
		}
	}
	if slices.Contains(o.Enable, lifecycle.PluginName) && o.Kubeconfig == "" {
		errs = append(errs, fmt.Errorf("--enable-admission-plugins %s needs --kubeconfig: without a host cluster every namespace exists", lifecycle.PluginName))
	}
	return errs
}

// plugins are the names of those enabled, in order. With a host cluster all of them are by default; without one, all but NamespaceLifecycle
// are if there is a configuration, for else there is nothing to ask.
func (o *Options) plugins() []string {
	var names []string
	for _, name := range order {
		byDefault := o.Kubeconfig != "" || o.ConfigFile != "" && name != lifecycle.PluginName
		if slices.Contains(o.Enable, name) || byDefault && !slices.Contains(o.Disable, name) {
			names = append(names, name)
		}
	}
	return names
}
