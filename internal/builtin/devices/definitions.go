package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object:   &resourcev1.DeviceClass{},
			Strategy: classStrategy(), Columns: resource.NameAndAge, ReturnsDeleted: true,
		},
		{
			Object:   &resourcev1.DeviceTaintRule{},
			Strategy: taintStrategy(), Default: defaultTaintRule,
			Subresources: []resource.Subresource{taintRules.Status()}, Columns: taintColumns,
			Storage: resource.NewStorage(&resourcev1.DeviceTaintRule{}, &resourcev1beta2.DeviceTaintRule{}),
		},
		{
			Object: &resourcev1.ResourceClaim{}, Namespaced: true,
			Strategy: claimRules.Rules(), Default: defaultClaim,
			Subresources: []resource.Subresource{claimRules.Status()}, Columns: claimColumns, ReturnsDeleted: true,
			Upgrade: upgrade,
		},
		{
			Object: &resourcev1.ResourceClaimTemplate{}, Namespaced: true,
			Strategy: templateRules.Rules(), Default: defaultTemplate, Columns: resource.NameAndAge, ReturnsDeleted: true,
			Upgrade: upgrade,
		},
		{
			Object:   &resourcev1.ResourceSlice{},
			Strategy: sliceRules.Rules(), Default: defaultSlice, Columns: sliceColumns, Fields: &sliceFields,
			Upgrade: upgrade, ReturnsDeleted: true,
		},
	}
}

var sliceFields = resource.Fields{
	Values: resource.Paths(&resourcev1.ResourceSlice{}, resourcev1.ResourceSliceSelectorNodeName,
		resourcev1.ResourceSliceSelectorDriver, resourcev1.ResourceSliceSelectorPoolName),
	Unsupported: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
}
