package devices

import (
	"cmp"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func defaultTaintRule(obj runtime.Object) {
	defaultTaint(&obj.(*resourcev1.DeviceTaintRule).Spec.Taint)
}

func defaultTaint(taint *resourcev1.DeviceTaint) {
	resource.Default(&taint.TimeAdded, *now())
}

// now returns the present second, the precision of stored times.
func now() *metav1.Time { return &metav1.Time{Time: time.Now().Truncate(time.Second)} }

func defaultClaim(obj runtime.Object) {
	claim := obj.(*resourcev1.ResourceClaim)
	defaultRequests(&claim.Spec)
	if allocation := claim.Status.Allocation; allocation != nil {
		for n := range allocation.Devices.Results {
			defaultTolerations(allocation.Devices.Results[n].Tolerations)
		}
	}
}

func defaultTemplate(obj runtime.Object) {
	defaultRequests(&obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec)
}

func defaultRequests(spec *resourcev1.ResourceClaimSpec) {
	for n := range spec.Devices.Requests {
		request := &spec.Devices.Requests[n]
		if exactly := request.Exactly; exactly != nil {
			defaultCount(&exactly.AllocationMode, &exactly.Count)
			defaultTolerations(exactly.Tolerations)
		}
		for m := range request.FirstAvailable {
			sub := &request.FirstAvailable[m]
			defaultCount(&sub.AllocationMode, &sub.Count)
			defaultTolerations(sub.Tolerations)
		}
	}
}

func defaultCount(mode *resourcev1.DeviceAllocationMode, count *int64) {
	*mode = cmp.Or(*mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		*count = cmp.Or(*count, 1)
	}
}

func defaultTolerations(tolerations []resourcev1.DeviceToleration) {
	for n := range tolerations {
		tolerations[n].Operator = cmp.Or(tolerations[n].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

func defaultSlice(obj runtime.Object) {
	spec := &obj.(*resourcev1.ResourceSlice).Spec
	for n := range spec.Devices {
		for m := range spec.Devices[n].Taints {
			defaultTaint(&spec.Devices[n].Taints[m])
		}
	}
}
