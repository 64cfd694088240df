package evaluators

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestServiceUsage checks what Services use.
func TestServiceUsage(t *testing.T) {
	t.Parallel()
	const one = "count/services=1 services=1"
	for title, tt := range map[string]struct{ spec, want string }{
		"cluster IP": {`{type: ClusterIP, ports: [{port: 1}]}`, one},
		"name":       {`{type: ExternalName, externalName: a}`, one},
		"node ports": {`{type: NodePort, ports: [{port: 1}, {port: 2}]}`, one + " services.nodeports=2"},
		"balancer":   {`{type: LoadBalancer, ports: [{port: 1}]}`, one + " services.loadbalancers=1 services.nodeports=1"},
		"no node ports": {
			`{type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 1}, {port: 2, nodePort: 30000}]}`,
			one + " services.loadbalancers=1 services.nodeports=1",
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			uses(t, services, &corev1.Service{Spec: *decode[corev1.ServiceSpec](t, tt.spec)}, tt.want)
		})
	}
}

// TestVolumeClaimUsage checks what PersistentVolumeClaims use.
func TestVolumeClaimUsage(t *testing.T) {
	t.Parallel()
	const one = "count/persistentvolumeclaims=1 "
	for title, tt := range map[string]struct{ claim, want string }{
		"nothing": {`{}`, one + "persistentvolumeclaims=1"},
		"size":    {`spec: {resources: {requests: {storage: 1Gi}}}`, one + "persistentvolumeclaims=1 requests.storage=1Gi"},
		"bytes":   {`spec: {resources: {requests: {storage: 1500m}}}`, one + "persistentvolumeclaims=1 requests.storage=2"},
		"class": {
			`spec: {storageClassName: gold, resources: {requests: {storage: 1Gi}}}`, one +
				"gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/requests.storage=1Gi " +
				"persistentvolumeclaims=1 requests.storage=1Gi",
		},
		"annotated class": {
			`metadata: {annotations: {volume.beta.kubernetes.io/storage-class: gold}}`, one +
				"gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 persistentvolumeclaims=1",
		},
		"more allocated": {
			`{spec: {resources: {requests: {storage: 1Gi}}}, status: {allocatedResources: {storage: 2Gi}}}`,
			one + "persistentvolumeclaims=1 requests.storage=2Gi",
		},
		"less allocated": {
			`{spec: {resources: {requests: {storage: 3Gi}}}, status: {allocatedResources: {storage: 2Gi}}}`,
			one + "persistentvolumeclaims=1 requests.storage=3Gi",
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			uses(t, volumeClaims, decode[corev1.PersistentVolumeClaim](t, tt.claim), tt.want)
		})
	}
}

// TestVolumeClaimScopes checks by which classes of attributes claims are selected.
func TestVolumeClaimScopes(t *testing.T) {
	t.Parallel()
	for claim, want := range map[string]bool{
		`{}`: false,
		`spec: {volumeAttributesClassName: gold}`:                                                true,
		`spec: {volumeAttributesClassName: silver}`:                                              false,
		`status: {currentVolumeAttributesClassName: gold}`:                                       true,
		`status: {modifyVolumeStatus: {targetVolumeAttributesClassName: gold, status: Pending}}`: true,
	} {
		scope := corev1.ScopedResourceSelectorRequirement{
			ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpIn,
			Values: []string{"gold"},
		}
		quota := &corev1.ResourceQuota{}
		quota.Status.Hard = corev1.ResourceList{"requests.storage": number(1)}
		quota.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{scope}}
		got, err := volumeClaims.Matches(quota, decode[corev1.PersistentVolumeClaim](t, claim))
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", claim, got, err)
		}
	}
}
