package server

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/podsecurity"
)

// addPodSecurity adds the admission plugin PodSecurity to the definitions, if pods are served and it is enabled.
func addPodSecurity(o *admission.Options, s *stored) error {
	pods := corev1.Resource("pods")
	if s.builtins.Find(pods) == nil || !o.Enabled(podsecurity.Name) {
		return nil
	}
	configuration, err := o.PluginConfiguration(podsecurity.Name)
	if err != nil {
		return err
	}
	registry := compatibility.DefaultComponentGlobalsRegistry
	plugins, err := podsecurity.New(podsecurity.Config{
		Configuration: configuration,
		Version:       registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent),
		Namespaces:    namespaceGetter(s),
		Pods:          namespaceLister[*corev1.Pod](s, pods),
	})
	if err != nil {
		return fmt.Errorf("--admission-control-config-file %s: %s: %w", o.ConfigFile, podsecurity.Name, err)
	}
	for _, d := range s.builtins.Definitions {
		d.Plugins = append(d.Plugins, plugins.For(d)...)
	}
	return nil
}
