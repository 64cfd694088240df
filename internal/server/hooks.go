package server

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var (
	apiServices     = apiregistrationv1.Resource("apiservices")
	configMaps      = corev1.Resource("configmaps")
	leases          = coordinationv1.Resource("leases")
	priorityClasses = schedulingv1.Resource("priorityclasses")
	serviceCIDRs    = networkingv1.Resource("servicecidrs")
)

// hookNames are the hooks of kube-apiserver after whose work something is done here too, in its order. needs is the
// resource that the work is for; empty if every server does it. when, if set, reports whether a server does it.
var hookNames = []struct {
	name  string
	stage stage
	needs schema.GroupResource
	when  func(o *Options) bool
}{
	{name: "poststarthook/start-encryption-provider-config-automatic-reload", stage: started,
		when: func(o *Options) bool { return o.Encryption.Reload }},
	{name: "poststarthook/start-apiserver-admission-initializer", stage: prepared},
	{name: "poststarthook/generic-apiserver-start-informers", stage: started},
	{name: "poststarthook/max-in-flight-filter", stage: started},
	{name: "poststarthook/storage-object-count-tracker-hook", stage: started},
	{name: "poststarthook/start-apiextensions-informers", stage: started},
	{name: "poststarthook/start-apiextensions-controllers", stage: started},
	{name: "poststarthook/crd-informer-synced", stage: synced},
	{name: "poststarthook/start-system-namespaces-controller", stage: prepared, needs: corev1.Resource("namespaces")},
	{name: "poststarthook/start-cluster-authentication-info-controller", stage: prepared, needs: configMaps},
	{name: "poststarthook/start-kube-apiserver-identity-lease-controller", stage: prepared, needs: leases,
		when: (*Options).identifies},
	{name: "poststarthook/start-kube-apiserver-identity-lease-garbage-collector", stage: prepared, needs: leases,
		when: (*Options).identifies},
	{name: "poststarthook/storage-readiness", stage: prepared},
	{name: "poststarthook/start-service-ip-repair-controllers", stage: prepared, needs: corev1.Resource("services")},
	{name: "poststarthook/rbac/bootstrap-roles", stage: prepared, needs: rbacv1.Resource("clusterroles")},
	{name: "poststarthook/scheduling/bootstrap-system-priority-classes", stage: prepared, needs: priorityClasses},
	{name: "poststarthook/bootstrap-controller", stage: prepared, needs: corev1.Resource("services")},
	{name: "poststarthook/start-kubernetes-service-cidr-controller", stage: prepared, needs: serviceCIDRs},
	{name: "poststarthook/start-kube-aggregator-informers", stage: started, needs: apiServices},
	{name: "poststarthook/apiservice-status-local-available-controller", stage: prepared, needs: apiServices},
	// Nothing is remote. The same tests look for it.
	{name: "poststarthook/apiservice-status-remote-available-controller", stage: prepared, needs: apiServices},
	{name: "poststarthook/apiservice-registration-controller", stage: prepared, needs: apiServices},
	{name: "poststarthook/kube-apiserver-autoregistration", stage: prepared, needs: apiServices},
	{name: "autoregister-completion", stage: prepared, needs: apiServices},
	{name: "poststarthook/apiservice-openapi-controller", stage: synced, needs: apiServices},
	{name: "poststarthook/apiservice-openapiv3-controller", stage: synced, needs: apiServices},
}

// hooksOf returns the hooks of a server with some resources.
func hooksOf(c *components) (hooks []*hook) {
	for _, h := range hookNames {
		if (h.needs.Empty() || c.storage.builtins.Find(h.needs) != nil) && (h.when == nil || h.when(&c.options.Options)) {
			hooks = append(hooks, &hook{name: h.name, stage: h.stage})
		}
	}
	return hooks
}
