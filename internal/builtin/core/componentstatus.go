package core

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ComponentStatus returns the resource that lists the components of a control plane. The server has no components to
// list, so it is always empty, and cannot be written.
func ComponentStatus() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.ComponentStatus{}, ShortNames: []string{"cs"}, Verbs: []string{"get", "list"},
		Deprecated: "v1 ComponentStatus is deprecated in v1.19+",
	}
}
