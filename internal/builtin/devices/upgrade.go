package devices

import (
	"reflect"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgradeClaim returns a ResourceClaim of a beta version in v1.
func upgradeClaim(obj runtime.Object) (runtime.Object, error) {
	claim := &resourcev1.ResourceClaim{}
	if err := resource.Transcode(obj, claim); err != nil {
		return nil, err
	}
	if old, ok := obj.(*resourcev1beta1.ResourceClaim); ok {
		return claim, upgradeRequests(old.Spec.Devices.Requests, claim.Spec.Devices.Requests)
	}
	return claim, nil
}

// upgradeTemplate returns a ResourceClaimTemplate of a beta version in v1.
func upgradeTemplate(obj runtime.Object) (runtime.Object, error) {
	template := &resourcev1.ResourceClaimTemplate{}
	if err := resource.Transcode(obj, template); err != nil {
		return nil, err
	}
	if old, ok := obj.(*resourcev1beta1.ResourceClaimTemplate); ok {
		return template, upgradeRequests(old.Spec.Spec.Devices.Requests, template.Spec.Spec.Devices.Requests)
	}
	return template, nil
}

// upgradeRequests moves the fields of requests of v1beta1 to where v1 has them, below "exactly".
func upgradeRequests(old []resourcev1beta1.DeviceRequest, requests []resourcev1.DeviceRequest) error {
	for n := range old {
		exactly := old[n]
		exactly.Name, exactly.FirstAvailable = "", nil
		if reflect.ValueOf(exactly).IsZero() {
			continue // one of several alternatives is requested
		}
		requests[n].Exactly = &resourcev1.ExactDeviceRequest{}
		if err := resource.Transcode(exactly, requests[n].Exactly); err != nil {
			return err
		}
	}
	return nil
}

// upgradeSlice returns a ResourceSlice of a beta version in v1. In v1beta1 the fields of a device are below "basic".
func upgradeSlice(obj runtime.Object) (runtime.Object, error) {
	slice := &resourcev1.ResourceSlice{}
	if err := resource.Transcode(obj, slice); err != nil {
		return nil, err
	}
	old, ok := obj.(*resourcev1beta1.ResourceSlice)
	if !ok {
		return slice, nil
	}
	for n, device := range old.Spec.Devices {
		if device.Basic == nil {
			continue
		}
		if err := resource.Transcode(device.Basic, &slice.Spec.Devices[n]); err != nil {
			return nil, err
		}
	}
	return slice, nil
}
