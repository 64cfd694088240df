package devices

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
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

// checkClaimStatus checks the consumers and the devices of a claim, and its allocation if that is new.
func checkClaimStatus(c, old *resourcev1.ResourceClaim) field.ErrorList {
	status, before := &c.Status, &old.Status
	errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checkConsumers(status.ReservedFor)...)
	allocated := allocatedDevices(status)
	for n := range status.Devices {
		errs = append(errs, checkDeviceStatus(&status.Devices[n], statusPath.Child("devices").Index(n), allocated)...)
	}
	reserved := statusPath.Child("reservedFor")
	switch {
	case len(status.ReservedFor) == 0:
	case status.Allocation == nil:
		errs = append(errs, field.Forbidden(reserved, "may not be specified when `allocated` is not set"))
	case c.DeletionTimestamp != nil && !sets.New(before.ReservedFor...).HasAll(status.ReservedFor...):
		const text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
		errs = append(errs, field.Forbidden(reserved, text))
	}
	if status.Allocation != nil && before.Allocation == nil {
		errs = append(errs, checkAllocation(status.Allocation, requestNames(c.Spec.Devices.Requests))...)
	}
	return append(errs, declared(resourcev1.Validate_ResourceClaimStatus, statusPath, status, before)...)
}

func checkConsumers(consumers []resourcev1.ResourceClaimConsumerReference) (errs field.ErrorList) {
	if len(consumers) > resourcev1.ResourceClaimReservedForMaxSize {
		return nil // a declarative rule
	}
	for n := range consumers {
		path := statusPath.Child("reservedFor").Index(n)
		for _, required := range []struct{ name, value string }{
			{"resource", consumers[n].Resource}, {"name", consumers[n].Name}, {"uid", string(consumers[n].UID)},
		} {
			if required.value == "" {
				errs = append(errs, field.Required(path.Child(required.name), ""))
			}
		}
	}
	return errs
}

func checkDeviceStatus(
	d *resourcev1.AllocatedDeviceStatus, path *field.Path, allocated sets.Set[deviceID],
) field.ErrorList {
	errs := checkDriver(d.Driver, path.Child("driver"))
	errs = append(errs, checkPool(d.Pool, path.Child("pool"))...)
	errs = append(errs, checkLabel(d.Device, path.Child("device"))...)
	if id := idOf(d); !allocated.Has(id) {
		errs = append(errs, field.Invalid(path, id, "must be an allocated device in the claim"))
	}
	conditions := path.Child("conditions")
	if len(d.Conditions) > resourcev1.AllocatedDeviceStatusMaxConditions {
		errs = append(errs, field.TooMany(conditions, len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions))
	}
	errs = append(errs, metav1validation.ValidateConditions(d.Conditions, conditions)...)
	if d.Data != nil && len(d.Data.Raw) > 0 {
		errs = append(errs, checkParameters(*d.Data, path.Child("data"), false)...)
	}
	return errs
}

// checkAllocation checks a new allocation. It never changes later.
func checkAllocation(a *resourcev1.AllocationResult, names requests) (errs field.ErrorList) {
	devices, path := &a.Devices, statusPath.Child("allocation", "devices")
	if len(devices.Results) <= resourcev1.AllocationResultsMaxSize {
		for n := range devices.Results {
			r, path := &devices.Results[n], path.Child("results").Index(n)
			errs = append(errs, names.checkOne(r.Request, path.Child("request"))...)
			errs = append(errs, checkLabel(r.Device, path.Child("device"))...)
			for m := range r.Tolerations {
				errs = append(errs, checkToleration(&r.Tolerations[m], path.Child("tolerations").Index(m))...)
			}
		}
	}
	const mostConfig = 2 * resourcev1.DeviceConfigMaxSize // of the class, and of the claim
	if len(devices.Config) <= mostConfig {
		for n := range devices.Config {
			config, path := &devices.Config[n], path.Child("config").Index(n)
			errs = append(errs, names.check(config.Requests, path.Child("requests"))...)
			errs = append(errs, checkConfiguration(&config.DeviceConfiguration, path, false)...)
		}
	}
	return errs
}
