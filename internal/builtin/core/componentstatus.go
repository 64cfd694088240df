package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ComponentStatus returns the resource that lists the components of a control plane. The server has no components to
// list, so it is always empty, and cannot be written.
func ComponentStatus() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "ComponentStatus", Plural: "componentstatuses",
		Singular: "componentstatus", ShortNames: []string{"cs"}, Verbs: []string{"get", "list"},
		Deprecated: "v1 ComponentStatus is deprecated in v1.19+",
		Object:     &corev1.ComponentStatus{}, List: &corev1.ComponentStatusList{}, Columns: componentStatusColumns,
	}
}

var componentStatusColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Status", Type: "string", Description: "Status of the component conditions"},
		{Name: "Message", Type: "string", Description: "Message of the component conditions"},
		{Name: "Error", Type: "string", Description: "Error of the component conditions"},
	},
	Cells: func(obj runtime.Object) []any { return []any{obj.(*corev1.ComponentStatus).Name, "Unknown", "", ""} },
}
