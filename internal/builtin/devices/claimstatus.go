package devices

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// dropAlphaResults clears the fields of features that are off by default.
func dropAlphaResults(status *resourcev1.ResourceClaimStatus) {
	if status.Allocation == nil {
		return
	}
	for n := range status.Allocation.Devices.Results {
		status.Allocation.Devices.Results[n].SkipNodeOperations = nil
	}
}

// deviceID identifies an allocated device, or a share of one.
type deviceID struct{ Driver, Pool, Device, ShareID string }

// allocatedDevices returns the devices of an allocation.
func allocatedDevices(status *resourcev1.ResourceClaimStatus) sets.Set[deviceID] {
	ids := sets.New[deviceID]()
	if status.Allocation == nil {
		return ids
	}
	for n := range status.Allocation.Devices.Results {
		r := &status.Allocation.Devices.Results[n]
		ids.Insert(deviceID{r.Driver, r.Pool, r.Device, string(ptr.Deref(r.ShareID, ""))})
	}
	return ids
}

func idOf(d *resourcev1.AllocatedDeviceStatus) deviceID {
	return deviceID{d.Driver, d.Pool, d.Device, ptr.Deref(d.ShareID, "")}
}

// dropDeallocated removes the status of devices that the update deallocates.
func dropDeallocated(status, old *resourcev1.ResourceClaimStatus) {
	gone := allocatedDevices(old).Difference(allocatedDevices(status))
	status.Devices = slices.DeleteFunc(status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		return gone.Has(idOf(&d))
	})
	if len(status.Devices) == 0 {
		status.Devices = nil
	}
}

// checkAllocated checks that a claim has been allocated the devices whose status it reports: Access decides about a
// status by the node of the allocation.
func checkAllocated(status *resourcev1.ResourceClaimStatus) (errs field.ErrorList) {
	allocated := allocatedDevices(status)
	for n := range status.Devices {
		if id := idOf(&status.Devices[n]); !allocated.Has(id) {
			path := statusPath.Child("devices").Index(n)
			errs = append(errs, field.Invalid(path, id, "must be an allocated device in the claim"))
		}
	}
	return errs
}
