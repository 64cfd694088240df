package builtins

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/podsecurity"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// newPodSecurity returns the plugins PodSecurity, if pods are served and it is enabled.
func newPodSecurity(c *Config, namespaces *reader[*corev1.Namespace]) ([]resource.Plugin, error) {
	pods := corev1.Resource("pods")
	if c.Set.Find(pods) == nil || !c.Admission.Enabled(podsecurity.Name) {
		return nil, nil
	}
	configuration, err := c.Admission.PluginConfiguration(podsecurity.Name)
	if err != nil {
		return nil, err
	}
	plugins, err := podsecurity.New(
		c.Set.Definitions, configuration, namespaces.get, newReader[*corev1.Pod](c, pods).list)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %s: %w", c.Admission.ConfigFile, podsecurity.Name, err)
	}
	return plugins, nil
}
