package server

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/bootstrap"
)

// clusterServiceFields are the managed fields of the Service of the server, in the format FieldsV1.
const clusterServiceFields = `{"f:metadata":{"f:labels":{".":{},"f:component":{},"f:provider":{}}},` +
	`"f:spec":{"f:clusterIP":{},"f:internalTrafficPolicy":{},"f:ipFamilyPolicy":{},` +
	`"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},` +
	`"f:sessionAffinity":{},"f:type":{}}}`

// addClusterService adds the Service default/kubernetes, which clients in Pods find the server by, if Services are
// served. It has the first address of the range of Services. The port of the server is unknown here if the system
// chooses it; then the target port is that of the Service.
func (o *systemObjects) addClusterService(options *Options) error {
	definition := o.builtins.Find(schema.GroupResource{Resource: "services"})
	if definition == nil {
		return nil
	}
	ranges, err := netutils.ParseCIDRs(strings.Split(options.Resources.ServiceClusterIPRange, ","))
	if err != nil {
		return fmt.Errorf("flag --service-cluster-ip-range: %w", err)
	}
	address, err := netutils.GetIndexedIP(ranges[0], 1)
	if err != nil {
		return fmt.Errorf("flag --service-cluster-ip-range: %w", err)
	}
	family := corev1.IPv4Protocol
	if netutils.IsIPv6(address) {
		family = corev1.IPv6Protocol
	}
	o.objects = append(o.objects, bootstrap.Object{
		Definition: definition, Fields: clusterServiceFields,
		Object: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceDefault, Name: "kubernetes",
				Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
			},
			Spec: corev1.ServiceSpec{
				ClusterIP: address.String(), ClusterIPs: []string{address.String()},
				IPFamilies: []corev1.IPFamily{family}, IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
				Ports: []corev1.ServicePort{{
					Name: "https", Port: 443, TargetPort: intstr.FromInt32(int32(options.Serving.SecurePort)),
				}},
			},
		},
	})
	return nil
}
