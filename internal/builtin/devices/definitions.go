package devices

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: resourcev1.SchemeGroupVersion, Kind: "DeviceClass", Plural: "deviceclasses", Singular: "deviceclass",
			Object: &resourcev1.DeviceClass{}, List: &resourcev1.DeviceClassList{},
			Strategy: classRules, Columns: resource.NameAndAge, ReturnsDeleted: true,
		},
		{
			GroupVersion: resourcev1.SchemeGroupVersion, Kind: "DeviceTaintRule",
			Plural: "devicetaintrules", Singular: "devicetaintrule",
			Object: &resourcev1.DeviceTaintRule{}, List: &resourcev1.DeviceTaintRuleList{},
			Strategy: taintRules, Default: defaultTaintRule, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(taintStatusRules)}, Columns: taintColumns,
			Storage: resource.NewStorage(resourcev1beta2.SchemeGroupVersion,
				&resourcev1.DeviceTaintRule{}, &resourcev1beta2.DeviceTaintRule{}),
		},
		{
			GroupVersion: resourcev1.SchemeGroupVersion, Kind: "ResourceClaim",
			Plural: "resourceclaims", Singular: "resourceclaim", Namespaced: true,
			Object: &resourcev1.ResourceClaim{}, List: &resourcev1.ResourceClaimList{},
			Strategy: claimRules, Default: defaultClaim, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(claimStatusRules)}, Columns: claimColumns, ReturnsDeleted: true,
			Upgrade: upgradeClaim,
		},
		{
			GroupVersion: resourcev1.SchemeGroupVersion, Kind: "ResourceClaimTemplate",
			Plural: "resourceclaimtemplates", Singular: "resourceclaimtemplate", Namespaced: true,
			Object: &resourcev1.ResourceClaimTemplate{}, List: &resourcev1.ResourceClaimTemplateList{},
			Strategy: templateRules, Default: defaultTemplate, Columns: resource.NameAndAge, ReturnsDeleted: true,
			Upgrade: upgradeTemplate,
		},
		{
			GroupVersion: resourcev1.SchemeGroupVersion, Kind: "ResourceSlice",
			Plural: "resourceslices", Singular: "resourceslice",
			Object: &resourcev1.ResourceSlice{}, List: &resourcev1.ResourceSliceList{},
			Strategy: sliceRules, Default: defaultSlice, Columns: sliceColumns, Fields: &sliceFields, ReturnsDeleted: true,
			Upgrade: upgradeSlice,
		},
	}
}

func statusOf(strategy resource.Strategy) resource.Subresource {
	return resource.Subresource{
		Name: "status", Verbs: resource.SubresourceVerbs, Strategy: strategy, Resets: []string{"metadata", "spec"},
	}
}

var sliceFields = resource.Fields{
	Names: []string{
		resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver,
		resourcev1.ResourceSliceSelectorPoolName,
	},
	Values: func(obj runtime.Object) map[string]string {
		spec := &obj.(*resourcev1.ResourceSlice).Spec
		return map[string]string{
			resourcev1.ResourceSliceSelectorNodeName: ptr.Deref(spec.NodeName, ""),
			resourcev1.ResourceSliceSelectorDriver:   spec.Driver,
			resourcev1.ResourceSliceSelectorPoolName: spec.Pool.Name,
		}
	},
	NoNamespace: true,
	Error: func(name string) error {
		kind := resourcev1.SchemeGroupVersion.WithKind("ResourceSlice")
		return fmt.Errorf("field label not supported for %s: %s", kind, name)
	},
}
