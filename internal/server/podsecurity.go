package server

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/podsecurity"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// newPodSecurity returns the plugins PodSecurity, if pods are served and it is enabled.
func newPodSecurity(o *admission.Options, s *stored) ([]resource.Plugin, error) {
	pods := corev1.Resource("pods")
	if s.builtins.Find(pods) == nil || !o.Enabled(podsecurity.Name) {
		return nil, nil
	}
	configuration, err := o.PluginConfiguration(podsecurity.Name)
	if err != nil {
		return nil, err
	}
	registry := compatibility.DefaultComponentGlobalsRegistry
	plugins, err := podsecurity.New(podsecurity.Config{
		Definitions:   s.builtins.Definitions,
		Configuration: configuration,
		Version:       registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent),
		Namespaces:    namespaceGetter(s),
		Pods:          namespaceLister[*corev1.Pod](s, pods),
	})
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %s: %w", o.ConfigFile, podsecurity.Name, err)
	}
	return plugins, nil
}
