// Package defaultingressclass is the admission plugin DefaultIngressClass: it gives new Ingresses the default class.
package defaultingressclass

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "DefaultIngressClass"

// New returns the plugin for Ingresses. classes returns all IngressClasses.
func New(classes func(ctx context.Context) ([]*networkingv1.IngressClass, error)) resource.Plugin {
	mutate := func(ctx context.Context, ingress *networkingv1.Ingress) error {
		annotated := metav1.HasAnnotation(ingress.ObjectMeta, network.IngressClassAnnotation)
		if annotated || ingress.Spec.IngressClassName != nil {
			return nil
		}
		all, err := classes(ctx)
		if class := resource.Newest(all, network.IsDefaultClass); class != nil {
			ingress.Spec.IngressClassName = &class.Name
		}
		return err
	}
	ingresses := networkingv1.Resource("ingresses")
	return resource.Plugin{Name: Name, Resource: ingresses, Mutate: resource.OnCreate(mutate)}
}
