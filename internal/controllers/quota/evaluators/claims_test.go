package evaluators

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
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
			uses(t, newServices(), &corev1.Service{Spec: *decode[corev1.ServiceSpec](t, tt.spec)}, tt.want)
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
			uses(t, newVolumeClaims(), decode[corev1.PersistentVolumeClaim](t, tt.claim), tt.want)
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
		got, err := newVolumeClaims().Matches(quota, decode[corev1.PersistentVolumeClaim](t, claim))
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", claim, got, err)
		}
	}
}

// cluster has a class gpu of the devices example.com/gpu, a Pod that uses two of them, and the claims for it.
type cluster struct {
	noObjects
	pod    *corev1.Pod
	claims []*resourcev1.ResourceClaim
}

func (c *cluster) Pod(_, name string) (*corev1.Pod, error) {
	if name != c.pod.Name {
		return c.noObjects.Pod("", name)
	}
	return c.pod, nil
}

func (c *cluster) ResourceClaims(string) ([]*resourcev1.ResourceClaim, error) { return c.claims, nil }

func (c *cluster) DeviceClasses() ([]*resourcev1.DeviceClass, error) {
	resource := "example.com/gpu"
	gpu := &resourcev1.DeviceClass{Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &resource}}
	gpu.Name = "gpu"
	nic := &resourcev1.DeviceClass{}
	nic.Name = "nic"
	return []*resourcev1.DeviceClass{nic, gpu}, nil
}

// TestDeviceClaimUsage checks what ResourceClaims use, also those that were made for a Pod.
func TestDeviceClaimUsage(t *testing.T) {
	t.Parallel()
	const (
		one   = "count/resourceclaims.resource.k8s.io=1"
		three = `spec: {devices: {requests: [
			{name: a, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 3}}]}}`
		counted = one + " gpu.deviceclass.resource.k8s.io/devices=3 requests.deviceclass.resource.kubernetes.io/gpu=3"
	)
	made := func(name, owner string) string {
		return "{metadata: {name: " + name + `, annotations: {resource.kubernetes.io/extended-resource-claim: "true"},` +
			"ownerReferences: [" + owner + "]}, " + three + "}"
	}
	const (
		owner  = `{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}`
		namesC = "{extendedResourceClaimStatus: {requestMappings: [], resourceClaimName: c}}"
		all    = counted + " requests.example.com/gpu=3"
	)
	for title, tt := range map[string]struct{ claim, status, want string }{
		"nothing": {`{}`, "{}", one},
		"exactly": {three, "{}", all},
		"all": {
			`spec: {devices: {requests: [{name: a, exactly: {deviceClassName: nic, allocationMode: All}}]}}`, "{}",
			one + " nic.deviceclass.resource.k8s.io/devices=32 requests.deviceclass.resource.kubernetes.io/nic=32",
		},
		"the worst of alternatives, twice": {
			`spec: {devices: {requests: [
			{name: a, firstAvailable: [{name: x, deviceClassName: nic, allocationMode: ExactCount, count: 2},
			{name: y, deviceClassName: nic, allocationMode: ExactCount, count: 1}]},
			{name: b, exactly: {deviceClassName: nic, allocationMode: ExactCount, count: 1}}]}}`, "{}",
			one + " nic.deviceclass.resource.k8s.io/devices=3 requests.deviceclass.resource.kubernetes.io/nic=3",
		},
		"of a Pod":              {made("b", owner), "{}", counted + " requests.example.com/gpu=1"},
		"that the Pod names":    {made("c", owner), namesC, counted + " requests.example.com/gpu=1"},
		"that the Pod does not": {made("b", owner), namesC, all},
		"another one was first": {made("c", owner), "{}", all},
		"of a Pod that is gone": {
			made("b", `{apiVersion: v1, kind: Pod, name: p, uid: v, controller: true}`), "{}", all,
		},
		"of something else of the name": {
			made("b", `{apiVersion: v1, kind: Job, name: p, uid: u, controller: true}`), "{}", all,
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c := &cluster{
				pod: decode[corev1.Pod](t, `{metadata: {name: p, uid: u}, spec: {containers: [
				{name: a, resources: {requests: {example.com/gpu: 2}}}]}}`),
				claims: []*resourcev1.ResourceClaim{decode[resourcev1.ResourceClaim](t, made("b", owner))},
			}
			c.pod.Status = *decode[corev1.PodStatus](t, tt.status)
			uses(t, newDeviceClaims(c), decode[resourcev1.ResourceClaim](t, tt.claim), tt.want)
		})
	}
}

// TestNamesOfDeviceClasses checks that claims use what quotas limit of extended resources of classes.
func TestNamesOfDeviceClasses(t *testing.T) {
	t.Parallel()
	found := newDeviceClaims(&cluster{}).MatchingResources([]corev1.ResourceName{
		"requests.example.com/gpu", "requests.example.com/other", "requests.deviceclass.resource.kubernetes.io/nic",
		"requests.deviceclass.resource.kubernetes.io/other", "requests.cpu",
	})
	want := []corev1.ResourceName{"requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/nic"}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}
