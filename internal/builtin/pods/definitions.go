package pods

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of Pods, Bindings and PodTemplates.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "Pod", Plural: "pods", Singular: "pod",
			ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
			Object: &corev1.Pod{}, List: &corev1.PodList{},
			Strategy: podStrategy, Default: defaultPod, Resets: []string{"status"},
			Subresources: []resource.Subresource{
				resource.NewStream("attach", &corev1.PodAttachOptions{}),
				resource.NewStream("exec", &corev1.PodExecOptions{}),
				resource.NewStream("portforward", &corev1.PodPortForwardOptions{}),
				resource.NewProxy(&corev1.PodProxyOptions{}),
				{Name: "binding", Verbs: []string{"create"}, Action: bindingAction},
				{Name: "eviction", Verbs: []string{"create"}, Action: evictionAction},
				{Name: "ephemeralcontainers", Verbs: resource.SubresourceVerbs, Strategy: ephemeralStrategy,
					Resets: []string{"status"}},
				{Name: "resize", Verbs: resource.SubresourceVerbs, Strategy: resizeStrategy, Resets: []string{"status"}},
				{
					Name: "status", Verbs: resource.SubresourceVerbs, Strategy: statusStrategy,
					Resets: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
				},
			},
			Columns: podColumns, Fields: podFields, GracePeriod: gracePeriod, ReturnsDeleted: true,
		},
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "Binding", Plural: "bindings", Singular: "binding",
			Namespaced: true, Object: &corev1.Binding{}, Verbs: []string{"create"}, ActsAs: "pods/binding",
		},
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "PodTemplate", Plural: "podtemplates", Singular: "podtemplate",
			Namespaced: true, Object: &corev1.PodTemplate{}, List: &corev1.PodTemplateList{},
			Strategy: templateStrategy, Default: defaultTemplate, Columns: templateColumns, ReturnsDeleted: true,
		},
	}
}
