package devices

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var claimRules = resource.Plain[*resourcev1.ResourceClaim]{
	Check: func(c *resourcev1.ResourceClaim) field.ErrorList {
		return declared(resourcev1.Validate_ResourceClaimSpec, specPath, &c.Spec, nil)
	},
	CheckUpdate: func(c, old *resourcev1.ResourceClaim) field.ErrorList {
		return checkUnchanged(&c.Spec, &old.Spec, nil)
	},
	PrepareStatus: dropDeallocated,
	CheckStatus: func(c, old *resourcev1.ResourceClaim) field.ErrorList {
		errs := checkAllocated(&c.Status)
		return append(errs, declared(resourcev1.Validate_ResourceClaimStatus, statusPath, &c.Status, &old.Status)...)
	},
}

var templateRules = resource.Plain[*resourcev1.ResourceClaimTemplate]{
	Check: checkTemplate,
	CheckUpdate: func(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
		return append(checkTemplate(t), checkUnchanged(&t.Spec, &old.Spec, &t.Spec)...)
	},
}

func checkTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	return declared(resourcev1.Validate_ResourceClaimTemplateSpec, specPath, &t.Spec, nil)
}

// deviceID identifies an allocated device, or a share of one.
type deviceID struct{ Driver, Pool, Device, ShareID string }

// allocatedDevices returns the devices of an allocation.
func allocatedDevices(status *resourcev1.ResourceClaimStatus) sets.Set[deviceID] {
	ids := sets.New[deviceID]()
	if status.Allocation != nil {
		for _, r := range status.Allocation.Devices.Results {
			ids.Insert(deviceID{r.Driver, r.Pool, r.Device, string(ptr.Deref(r.ShareID, ""))})
		}
	}
	return ids
}

func idOf(d resourcev1.AllocatedDeviceStatus) deviceID {
	return deviceID{d.Driver, d.Pool, d.Device, ptr.Deref(d.ShareID, "")}
}

// dropDeallocated removes the status of devices that the update deallocates.
func dropDeallocated(c, old *resourcev1.ResourceClaim) {
	gone := allocatedDevices(&old.Status).Difference(allocatedDevices(&c.Status))
	c.Status.Devices = slices.DeleteFunc(c.Status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		return gone.Has(idOf(d))
	})
	if len(c.Status.Devices) == 0 {
		c.Status.Devices = nil
	}
}

// checkAllocated checks that a claim has been allocated the devices whose status it reports: Access decides about a
// status by the node of the allocation.
func checkAllocated(status *resourcev1.ResourceClaimStatus) (errs field.ErrorList) {
	allocated := allocatedDevices(status)
	for n, device := range status.Devices {
		if id := idOf(device); !allocated.Has(id) {
			path := statusPath.Child("devices").Index(n)
			errs = append(errs, field.Invalid(path, id, "must be an allocated device in the claim"))
		}
	}
	return errs
}
