package evaluators

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

var volumeClaimResource = corev1.Resource("persistentvolumeclaims")

// classInfix is between the name of a storage class and that of what a quota limits of the class.
const classInfix = ".storageclass.storage.k8s.io/"

var volumeClaims = newMeasure(volumeClaimResource, measure{
	handles: func(a admission.Attributes) bool { return writes(a) || a.GetSubresource() == "status" },
	has: func(name corev1.ResourceName) bool {
		if _, ofClass, found := strings.Cut(string(name), classInfix); found {
			name = corev1.ResourceName(ofClass)
		}
		return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage
	},
	scope: volumeClaimInScope,
	usage: volumeClaimUsage,
})

func volumeClaimUsage(obj runtime.Object) corev1.ResourceList {
	claim := obj.(*corev1.PersistentVolumeClaim)
	used := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: number(1)}
	if size, ok := claimedStorage(claim); ok {
		used[corev1.ResourceRequestsStorage] = size
	}
	if class := volume.GetPersistentVolumeClaimClass(claim); class != "" {
		for name, quantity := range maps.Clone(used) {
			used[corev1.ResourceName(class+classInfix)+name] = quantity
		}
	}
	return used
}

// claimedStorage returns the size of a claim in whole bytes. While a volume grows, or could not, more may be allocated
// than the claim requests.
func claimedStorage(claim *corev1.PersistentVolumeClaim) (size apiresource.Quantity, ok bool) {
	size, ok = claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return size, false
	}
	if allocated, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(size) > 0 {
		size = allocated
	}
	size = size.DeepCopy()
	size.RoundUp(0)
	return size, true
}

// volumeClaimInScope reports whether a scope selects the class of attributes that a claim has, has had, or is going to
// have.
func volumeClaimInScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	claim := obj.(*corev1.PersistentVolumeClaim)
	if scope.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, nil
	}
	return matchesClass(scope,
		ptr.Deref(claim.Spec.VolumeAttributesClassName, ""), ptr.Deref(claim.Status.CurrentVolumeAttributesClassName, ""),
		ptr.Deref(claim.Status.ModifyVolumeStatus, corev1.ModifyVolumeStatus{}).TargetVolumeAttributesClassName)
}
