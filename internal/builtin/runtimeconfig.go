package builtin

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	"k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/kubernetes/scheme"
	cliflag "k8s.io/component-base/cli/flag"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// stableOnly is the --runtime-config that the defaults amount to.
var stableOnly = cliflag.ConfigurationMap{resourceconfig.APIGA: "true"}

// Enabled returns the definitions that a --runtime-config leaves on. Its keys are those of kube-apiserver: api/all,
// api/ga, api/beta, api/alpha, group/version and group/version/resource. By default stable versions are on, and no
// others. The error is a mistake in config.
func Enabled(definitions []*resource.Definition, config cliflag.ConfigurationMap) ([]*resource.Definition, error) {
	config = withoutLegacy(config)
	if err := checkRuntimeConfig(config); err != nil {
		return nil, err
	}
	enabled := storage.NewResourceConfig()
	for _, d := range definitions {
		enabled.DisableVersions(d.GroupVersion)
	}
	for _, overrides := range []cliflag.ConfigurationMap{stableOnly, config} {
		var err error
		if enabled, err = resourceconfig.MergeAPIResourceConfigs(enabled, overrides, known); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(definitions), func(d *resource.Definition) bool {
		return !enabled.ResourceEnabled(d.GroupVersionResource())
	}), nil
}

// kubernetesVersions are the groups and versions of Kubernetes: those of k8s.io/api, and two others.
type kubernetesVersions struct{ *runtime.Scheme }

var known = kubernetesVersions{scheme.Scheme}

// IsGroupRegistered implements resourceconfig.GroupVersionRegistry.
func (v kubernetesVersions) IsGroupRegistered(group string) bool {
	return v.Scheme.IsGroupRegistered(group) || group == apiextensionsv1.GroupName || group == apiregistrationv1.GroupName
}

// IsVersionRegistered implements resourceconfig.GroupVersionRegistry.
func (v kubernetesVersions) IsVersionRegistered(gv schema.GroupVersion) bool {
	return v.Scheme.IsVersionRegistered(gv) ||
		gv == apiextensionsv1.SchemeGroupVersion || gv == apiregistrationv1.SchemeGroupVersion
}

// checkRuntimeConfig returns an error for what kube-apiserver refuses and the library does not.
func checkRuntimeConfig(config cliflag.ConfigurationMap) error {
	if config[resourceconfig.APIAll] == "false" && len(config) == 1 {
		return fmt.Errorf("%s=false alone leaves nothing to serve", resourceconfig.APIAll)
	}
	named, err := resourceconfig.ParseGroupVersions(config)
	if err != nil {
		return err
	}
	unknown := sets.New[string]()
	for _, gv := range named {
		if !known.IsGroupRegistered(gv.Group) {
			unknown.Insert(gv.String())
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("unknown API groups %s", strings.Join(sets.List(unknown), ", "))
	}
	return nil
}

// withoutLegacy returns a copy with the present key for the core group, as kube-apiserver does, and without api/legacy,
// which has no effect.
func withoutLegacy(config cliflag.ConfigurationMap) cliflag.ConfigurationMap {
	replaced := cliflag.ConfigurationMap{}
	for key, value := range config {
		core := strings.TrimPrefix(key, "api/")
		switch {
		case core == "legacy":
		case core == "v1" || strings.HasPrefix(core, "v1/"):
			replaced["/v1"] = value
		default:
			replaced[key] = value
		}
	}
	return replaced
}

// The tiers of built-in resources.
const (
	// None is no built-in resource but CRDs.
	None = "none"
	// TierEssential is what controllers need beside custom resources.
	TierEssential = "essential"
	// TierAll is every kind of k8s.io/api.
	TierAll = "all"
)

// Definitions returns the resources of a tier.
func Definitions(tier string) []*resource.Definition {
	switch tier {
	case None:
		return nil
	case TierAll:
		return All()
	}
	return Essential()
}
