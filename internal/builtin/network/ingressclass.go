package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ingressClassDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: networkingv1.SchemeGroupVersion, Kind: "IngressClass", Plural: "ingressclasses",
		Singular: "ingressclass", Object: &networkingv1.IngressClass{}, List: &networkingv1.IngressClassList{},
		Default: defaultIngressClass, Columns: ingressClassColumns,
		Strategy: resource.Plain[*networkingv1.IngressClass]{
			Counts: true, Constant: []string{"spec.controller"},
		}.Rules(),
	}
}

func defaultIngressClass(obj runtime.Object) {
	if parameters := obj.(*networkingv1.IngressClass).Spec.Parameters; parameters != nil && parameters.Scope == nil {
		parameters.Scope = new(networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

var ingressClassColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Controller", "Controller that is responsible for handling this class"),
		resource.TextColumn("Parameters", "A reference to a resource with additional parameters"),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		class := obj.(*networkingv1.IngressClass)
		name, parameters := class.Name, none
		if IsDefaultClass(class) {
			name += " (default)"
		}
		if ref := class.Spec.Parameters; ref != nil {
			parameters = ref.Kind
			if ref.APIGroup != nil {
				parameters += "." + *ref.APIGroup
			}
			parameters += "/" + ref.Name
		}
		return []any{name, class.Spec.Controller, parameters, resource.Age(class)}
	},
}

// IsDefaultClass reports whether a class is marked as that of Ingresses that name none.
func IsDefaultClass(class *networkingv1.IngressClass) bool {
	return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}
