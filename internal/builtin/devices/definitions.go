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
			Strategy: classRules, Columns: resource.NameAndAge, ReturnsDeleted: true,
		},
		{
			Object:   &resourcev1.DeviceTaintRule{},
			Strategy: taintRules, Default: defaultTaintRule, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(taintStatusRules)}, Columns: taintColumns,
			Storage: resource.NewStorage(&resourcev1.DeviceTaintRule{}, &resourcev1beta2.DeviceTaintRule{}),
		},
		{
			Object: &resourcev1.ResourceClaim{}, Namespaced: true,
			Strategy: claimRules, Default: defaultClaim, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(claimStatusRules)}, Columns: claimColumns, ReturnsDeleted: true,
			Upgrade: upgradeClaim,
		},
		{
			Object: &resourcev1.ResourceClaimTemplate{}, Namespaced: true,
			Strategy: templateRules, Default: defaultTemplate, Columns: resource.NameAndAge, ReturnsDeleted: true,
			Upgrade: upgradeTemplate,
		},
		{
			Object:   &resourcev1.ResourceSlice{},
			Strategy: sliceRules, Default: defaultSlice, Columns: sliceColumns, Fields: &sliceFields, ReturnsDeleted: true,
			Upgrade: upgradeSlice,
		},
	}
}

func statusOf(strategy resource.Strategy) resource.Subresource {
	return resource.Subresource{
		Name: "status", Strategy: strategy, Resets: []string{"metadata", "spec"},
	}
}

// sliceFields may be named by field selectors.
var sliceFields = resource.Fields{
	Values: resource.Paths(&resourcev1.ResourceSlice{}, resourcev1.ResourceSliceSelectorNodeName,
		resourcev1.ResourceSliceSelectorDriver, resourcev1.ResourceSliceSelectorPoolName),
	Unsupported: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
}
