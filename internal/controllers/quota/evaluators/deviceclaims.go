package evaluators

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

var deviceClaimResource = resourcev1.Resource("resourceclaims")

// deviceClaims measures ResourceClaims.
type deviceClaims struct{ objects Objects }

func newDeviceClaims(objects Objects) *measure {
	c := deviceClaims{objects}
	return newMeasure(deviceClaimResource, measure{handles: writes, has: c.use, usage: c.usage})
}

// use reports whether claims may use what a name limits: devices of a class, or an extended resource of which a class
// has the devices.
func (c deviceClaims) use(name corev1.ResourceName) bool {
	if strings.HasSuffix(string(name), corev1.ResourceClaimsPerClass) {
		return true
	}
	if !isRequestOfDevices(name) {
		return false
	}
	classes, err := c.objects.DeviceClasses()
	if err != nil {
		return false
	}
	resource := strings.TrimPrefix(string(name), requests)
	for _, class := range classes {
		if resource == resourcev1.ResourceDeviceClassPrefix+class.Name ||
			resource == ptr.Deref(class.Spec.ExtendedResourceName, "") {
			return true
		}
	}
	return false
}

func (c deviceClaims) usage(obj runtime.Object) (corev1.ResourceList, error) {
	claim, ok := obj.(*resourcev1.ResourceClaim)
	if !ok {
		return nil, fmt.Errorf("%T is not a ResourceClaim", obj)
	}
	devices := claimedDevices(claim)
	extended, err := c.extendedResources(devices)
	if err != nil {
		return nil, err
	}
	used := corev1.ResourceList{}
	for class, count := range devices {
		used[corev1.ResourceName(class+corev1.ResourceClaimsPerClass)] = number(count)
	}
	counted := c.countedAtPod(claim)
	for name, quantity := range extended {
		quantity.Sub(counted[name])
		if quantity.Sign() > 0 {
			used[name] = quantity
		}
	}
	return used, nil
}

// claimedDevices returns how many devices of each class a claim may get at most.
func claimedDevices(claim *resourcev1.ResourceClaim) map[string]int {
	devices := map[string]int{}
	for n := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[n]
		alternatives := map[string]int{}
		for _, sub := range request.FirstAvailable {
			class := sub.DeviceClassName
			alternatives[class] = max(alternatives[class], deviceCount(sub.AllocationMode, sub.Count))
		}
		if exactly := request.Exactly; exactly != nil && len(request.FirstAvailable) == 0 {
			alternatives[exactly.DeviceClassName] = deviceCount(exactly.AllocationMode, exactly.Count)
		}
		for class, count := range alternatives {
			devices[class] += count
		}
	}
	return devices
}

func deviceCount(mode resourcev1.DeviceAllocationMode, count int64) int {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return int(max(count, 0)) // the number is not validated
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	}
	return 0
}

// extendedResources returns the names by which quotas limit the devices of classes as extended resources.
func (c deviceClaims) extendedResources(devices map[string]int) (corev1.ResourceList, error) {
	if len(devices) == 0 {
		return nil, nil
	}
	classes, err := c.objects.DeviceClasses()
	if err != nil {
		return nil, fmt.Errorf("list device classes: %w", err)
	}
	extended := corev1.ResourceList{}
	for class, count := range devices {
		extended[corev1.ResourceName(corev1.ResourceImplicitExtendedClaimsPerClass+class)] = number(count)
	}
	for _, class := range classes {
		count, claimed := devices[class.Name]
		if resource := ptr.Deref(class.Spec.ExtendedResourceName, ""); claimed && resource != "" {
			extended[corev1.ResourceName(requests+resource)] = number(count)
		}
	}
	return extended, nil
}

// countedAtPod returns what the Pod uses for whose extended resources a claim was made: the claim adds nothing to that.
// It is nil for other claims.
func (c deviceClaims) countedAtPod(claim *resourcev1.ResourceClaim) corev1.ResourceList {
	owner := podOwner(claim)
	if owner == nil {
		return nil
	}
	pod, err := c.objects.Pod(claim.Namespace, owner.Name)
	if err != nil || pod.UID != owner.UID {
		return nil
	}
	status := pod.Status.ExtendedResourceClaimStatus
	if status != nil && status.ResourceClaimName != claim.Name || status == nil && !c.isFirst(claim, owner) {
		return nil
	}
	return podUsage(pod)
}

// podOwner returns the reference to the Pod for whose extended resources a claim was made; nil for another claim.
func podOwner(claim *resourcev1.ResourceClaim) *metav1.OwnerReference {
	if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil || owner.Kind != "Pod" || owner.APIVersion != "v1" {
		return nil
	}
	return owner
}

// isFirst reports whether no other claim was made for the extended resources of a Pod before a claim.
func (c deviceClaims) isFirst(claim *resourcev1.ResourceClaim, owner *metav1.OwnerReference) bool {
	claims, err := c.objects.ResourceClaims(claim.Namespace)
	if err != nil {
		return false
	}
	for _, other := range claims {
		if of := podOwner(other); of == nil || of.UID != owner.UID {
			continue
		}
		if cmp.Or(other.CreationTimestamp.Compare(claim.CreationTimestamp.Time), cmp.Compare(other.Name, claim.Name)) < 0 {
			return false
		}
	}
	return true
}
