package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ingressClassDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.IngressClass{}, Default: defaultIngressClass, Columns: ingressClassColumns,
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

var ingressClassColumns = resource.Columns[*networkingv1.IngressClass]{
	{Name: "Name", Cell: func(class *networkingv1.IngressClass) any {
		if IsDefaultClass(class) {
			return class.Name + " (default)"
		}
		return class.Name
	}},
	{Name: "Controller", Field: "spec.controller", Doc: "Controller that is responsible for handling this class"},
	{Name: "Parameters", Doc: "A reference to a resource with additional parameters", Cell: parametersCell},
	{Name: "Age"},
}

func parametersCell(class *networkingv1.IngressClass) any {
	ref := class.Spec.Parameters
	switch {
	case ref == nil:
		return none
	case ref.APIGroup != nil:
		return ref.Kind + "." + *ref.APIGroup + "/" + ref.Name
	}
	return ref.Kind + "/" + ref.Name
}

// IsDefaultClass reports whether a class is marked as that of Ingresses that name none.
func IsDefaultClass(class *networkingv1.IngressClass) bool {
	return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}
