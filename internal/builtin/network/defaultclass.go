package network

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// DefaultIngressClass is the name of the plugin that gives new Ingresses the default class.
const DefaultIngressClass = "DefaultIngressClass"

// NewDefaultIngressClass returns the plugin for Ingresses. classes returns all IngressClasses.
func NewDefaultIngressClass(classes func(ctx context.Context) ([]*networkingv1.IngressClass, error)) resource.Plugin {
	mutate := func(ctx context.Context, obj, old runtime.Object) error {
		ingress := obj.(*networkingv1.Ingress)
		_, annotated := ingress.Annotations[ingressClassAnnotation]
		if annotated || old != nil || ingress.Spec.IngressClassName != nil {
			return nil
		}
		all, err := classes(ctx)
		if err != nil {
			return err
		}
		if class := resource.Newest(all, isDefaultClass); class != nil {
			ingress.Spec.IngressClassName = &class.Name
		}
		return nil
	}
	return resource.Plugin{Name: DefaultIngressClass, Resource: networkingv1.Resource("ingresses"), Mutate: mutate}
}

func isDefaultClass(class *networkingv1.IngressClass) bool {
	return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}
