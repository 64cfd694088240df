// Package defaultingressclass is the admission plugin DefaultIngressClass: it gives new Ingresses the default class.
package defaultingressclass

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "DefaultIngressClass"

// New returns the plugin for Ingresses. classes returns all IngressClasses.
func New(classes func(ctx context.Context) ([]*networkingv1.IngressClass, error)) resource.Plugin {
	mutate := func(ctx context.Context, obj, old runtime.Object) error {
		ingress := obj.(*networkingv1.Ingress)
		_, annotated := ingress.Annotations[network.IngressClassAnnotation]
		if annotated || old != nil || ingress.Spec.IngressClassName != nil {
			return nil
		}
		all, err := classes(ctx)
		if err != nil {
			return err
		}
		if class := resource.Newest(all, network.IsDefaultClass); class != nil {
			ingress.Spec.IngressClassName = &class.Name
		}
		return nil
	}
	return resource.Plugin{Name: Name, Resource: networkingv1.Resource("ingresses"), Mutate: mutate}
}
