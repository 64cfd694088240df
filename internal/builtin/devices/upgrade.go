package devices

import (
	"reflect"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgrade completes an object of v1beta1, in which some fields were at other places.
func upgrade(old, obj runtime.Object) error {
	switch old := old.(type) {
	case *resourcev1beta1.ResourceClaim:
		return upgradeRequests(&old.Spec, &obj.(*resourcev1.ResourceClaim).Spec)
	case *resourcev1beta1.ResourceClaimTemplate:
		return upgradeRequests(&old.Spec.Spec, &obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec)
	case *resourcev1beta1.ResourceSlice:
		devices := obj.(*resourcev1.ResourceSlice).Spec.Devices
		for n, device := range old.Spec.Devices {
			if err := resource.Transcode(device.Basic, &devices[n]); err != nil { // nothing if there is no basic
				return err
			}
		}
	}
	return nil
}

// upgradeRequests moves the fields of requests to where v1 has them, below "exactly".
func upgradeRequests(old *resourcev1beta1.ResourceClaimSpec, spec *resourcev1.ResourceClaimSpec) error {
	for n, exactly := range old.Devices.Requests {
		exactly.Name, exactly.FirstAvailable = "", nil
		if reflect.ValueOf(exactly).IsZero() {
			continue // one of several alternatives is requested
		}
		request := &spec.Devices.Requests[n]
		request.Exactly = &resourcev1.ExactDeviceRequest{}
		if err := resource.Transcode(exactly, request.Exactly); err != nil {
			return err
		}
	}
	return nil
}
