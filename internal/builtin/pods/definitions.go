package pods

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of Pods, Bindings and PodTemplates.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &corev1.Pod{}, ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
			Strategy: podStrategy, Default: defaultPod,
			Subresources: []resource.Subresource{
				resource.NewStream("attach", &corev1.PodAttachOptions{}),
				resource.NewStream("exec", &corev1.PodExecOptions{}),
				resource.NewStream("portforward", &corev1.PodPortForwardOptions{}),
				resource.NewProxy(&corev1.PodProxyOptions{}),
				{Name: "binding", Action: bindingAction},
				{Name: "eviction", Action: evictionAction},
				{Name: "ephemeralcontainers", Strategy: ephemeralStrategy,
					Resets: []string{"status"}},
				{Name: "resize", Strategy: resizeStrategy, Resets: []string{"status"}},
				{
					Name: "status", Strategy: statusStrategy,
					Resets: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
				},
			},
			Columns: podColumns, Fields: podFields(), GracePeriod: gracePeriod, ReturnsDeleted: true,
		},
		{
			Object: &corev1.Binding{}, Namespaced: true, Verbs: []string{"create"}, ActsAs: "pods/binding",
		},
		{
			Object: &corev1.PodTemplate{}, Namespaced: true,
			Strategy: templateStrategy, Default: defaultTemplate, Columns: templateColumns, ReturnsDeleted: true,
		},
	}
}
