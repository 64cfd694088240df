package builtin

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Essential returns the resources of the tier essential.
func Essential() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap",
			ShortNames: []string{"cm"}, Namespaced: true, Object: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
		},
	}
}
