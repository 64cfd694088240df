package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestClusterService checks that a server with Services has the one that kube-apiserver has, and no other.
func TestClusterService(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--builtin-resources=all", "--service-cluster-ip-range=10.9.0.0/16").root()
	var services corev1.ServiceList
	listed := p.must(http.StatusOK, http.MethodGet, "/api/v1/services", "")
	if err := json.Unmarshal([]byte(listed.body), &services); err != nil {
		t.Fatal(err)
	}
	if len(services.Items) != 1 {
		t.Fatalf("%d services, want 1: %+v", len(services.Items), services.Items)
	}
	service := services.Items[0]
	if service.Namespace != "default" || service.Name != "kubernetes" {
		t.Errorf("service %s/%s, want default/kubernetes", service.Namespace, service.Name)
	}
	labels := map[string]string{"component": "apiserver", "provider": "kubernetes"}
	if diff := cmp.Diff(labels, service.Labels); diff != "" {
		t.Error(diff)
	}
	listens, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	want := corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.9.0.1", ClusterIPs: []string{"10.9.0.1"},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
		InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster),
		SessionAffinity:       corev1.ServiceAffinityNone,
		Ports: []corev1.ServicePort{{
			Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.Parse(listens.Port()),
		}},
	}
	if diff := cmp.Diff(want, service.Spec); diff != "" {
		t.Error(diff)
	}
}

// TestServiceRanges checks that the range of Services is shown, and that the Service of the server has its address for
// itself.
func TestServiceRanges(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--builtin-resources=all", "--service-cluster-ip-range=10.9.0.0/16,fd00::/112").root()
	var cidr networkingv1.ServiceCIDR
	path := "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, path, "").body), &cidr); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cidr.Spec.CIDRs, []string{"10.9.0.0/16", "fd00::/112"}) ||
		!meta.IsStatusConditionTrue(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady) {
		t.Errorf("%+v", cidr)
	}
	taken := p.must(http.StatusUnprocessableEntity, http.MethodPost, servicesPath,
		serviceJSON("a", `,"clusterIP":"10.9.0.1"`))
	if message := taken.status(t).Message; !strings.Contains(message, "provided IP is already allocated") {
		t.Errorf("message %q", message)
	}
}
