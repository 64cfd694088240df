package builtins

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/bootstrap"
)

// clusterServiceFields are the managed fields of the Service of the server, in the format FieldsV1.
const clusterServiceFields = `{"f:metadata":{"f:labels":{".":{},"f:component":{},"f:provider":{}}},` +
	`"f:spec":{"f:clusterIP":{},"f:internalTrafficPolicy":{},"f:ipFamilyPolicy":{},` +
	`"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":` +
	`{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},` +
	`"f:sessionAffinity":{},"f:type":{}}}`

// clusterName is the name of the Service of the server, and of the ranges of Services.
const clusterName = "kubernetes"

// newClusterService returns the Service default/kubernetes, by which clients in Pods find the server, as a client would
// create it. Its address is the first of the ranges of Services.
func newClusterService(c *Services) *corev1.Service {
	address := allocator.FirstAddress(c.Ranges[0])
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: clusterName,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: address.String(), IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, TargetPort: intstr.FromInt32(int32(c.Port)),
			}},
		},
	}
}

// addClusterService adds the Service of the server, and the objects that show the ranges of Services and that it has an
// address of them. No allocator completes what is added here.
func (o *SystemObjects) addClusterService() {
	services := corev1.Resource("services")
	if o.Set.Find(services) == nil {
		return
	}
	address := allocator.FirstAddress(o.Services.Ranges[0])
	service := newClusterService(&o.Services)
	service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	if address.Is6() {
		service.Spec.IPFamilies[0] = corev1.IPv6Protocol
	}
	o.add(services, bootstrap.Object{Object: service, Fields: clusterServiceFields})
	o.add(networkingv1.Resource("ipaddresses"), bootstrap.Object{
		Object: allocator.NewAddress(address, metav1.NamespaceDefault, clusterName),
	})
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: clusterName}}
	for _, prefix := range o.Services.Ranges {
		cidr.Spec.CIDRs = append(cidr.Spec.CIDRs, prefix.String())
	}
	o.add(networkingv1.Resource("servicecidrs"), bootstrap.Object{
		Object: cidr, Fields: `{"f:spec":{"f:cidrs":{}}}`,
		SetStatus: func(obj runtime.Object) {
			obj.(*networkingv1.ServiceCIDR).Status.Conditions = []metav1.Condition{{
				Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now(),
				Message: "Kubernetes default Service CIDR is ready",
			}}
		},
	})
}
