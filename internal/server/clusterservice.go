package server

import (
	"net/netip"

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
func newClusterService(options *ValidOptions) *corev1.Service {
	address := allocator.FirstAddress(options.serviceRanges[0])
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: clusterName,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: address.String(), IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, TargetPort: intstr.FromInt32(int32(options.Serving.SecurePort)),
			}},
		},
	}
}

// addClusterService adds the Service of the server and the ranges, if Services are served. No allocator completes what
// is added here.
func (o *systemObjects) addClusterService(options *ValidOptions) {
	definition := o.builtins.Find(corev1.Resource("services"))
	if definition == nil {
		return
	}
	address := allocator.FirstAddress(options.serviceRanges[0])
	service := newClusterService(options)
	service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	if address.Is6() {
		service.Spec.IPFamilies[0] = corev1.IPv6Protocol
	}
	o.objects = append(o.objects, bootstrap.Object{
		Definition: definition, Fields: clusterServiceFields, Object: service,
	})
	o.addServiceRanges(options.serviceRanges, address)
}

// addServiceRanges adds the objects that show the ranges of Services, and that the Service of the server has an address
// of them.
func (o *systemObjects) addServiceRanges(ranges []netip.Prefix, address netip.Addr) {
	if d := o.builtins.Find(networkingv1.Resource("ipaddresses")); d != nil {
		taken := allocator.NewAddress(address, metav1.NamespaceDefault, clusterName)
		o.objects = append(o.objects, bootstrap.Object{Definition: d, Object: taken})
	}
	d := o.builtins.Find(networkingv1.Resource("servicecidrs"))
	if d == nil {
		return
	}
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: clusterName}}
	for _, prefix := range ranges {
		cidr.Spec.CIDRs = append(cidr.Spec.CIDRs, prefix.String())
	}
	o.objects = append(o.objects, bootstrap.Object{
		Definition: d, Object: cidr, Fields: `{"f:spec":{"f:cidrs":{}}}`,
		SetStatus: func(obj runtime.Object) {
			obj.(*networkingv1.ServiceCIDR).Status.Conditions = []metav1.Condition{{
				Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now(),
				Message: "Kubernetes default Service CIDR is ready",
			}}
		},
	})
}
