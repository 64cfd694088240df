package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var sliceRules = resource.Typed[*resourcev1.ResourceSlice]{
	Prepare: func(s *resourcev1.ResourceSlice) {
		s.Generation = 1
		dropAlphaDevices(&s.Spec)
	},
	Check: func(s *resourcev1.ResourceSlice) field.ErrorList {
		errs := resource.CheckClusterMetadata(&s.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, checkSlice(&s.Spec, nil)...)
	},
	PrepareUpdate: func(s, old *resourcev1.ResourceSlice) {
		if !equality.Semantic.DeepEqual(s.Spec, old.Spec) {
			s.Generation = old.Generation + 1
		}
		dropAlphaDevices(&s.Spec)
	},
	CheckUpdate: func(s, old *resourcev1.ResourceSlice) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&s.ObjectMeta, &old.ObjectMeta)
		return append(errs, checkSlice(&s.Spec, &old.Spec)...)
	},
}

// dropAlphaDevices clears the fields of features that are off by default.
func dropAlphaDevices(spec *resourcev1.ResourceSliceSpec) {
	spec.PartitionTypeAttribute, spec.SkipNodeOperations = nil, nil
	for n := range spec.Devices {
		device := &spec.Devices[n]
		device.NodeAllocatableResources = nil
		for m := range device.ConsumesCounters {
			device.ConsumesCounters[m].CompatibilityGroups = nil
		}
		for name, attribute := range device.Attributes {
			attribute.BoolValues, attribute.IntValues = nil, nil
			attribute.StringValues, attribute.VersionValues = nil, nil
			device.Attributes[name] = attribute
		}
	}
}

// checkSlice checks the declarative rules of a slice, and that it stays with its pool.
func checkSlice(spec, old *resourcev1.ResourceSliceSpec) (errs field.ErrorList) {
	if old != nil {
		name := specPath.Child("pool", "name")
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Pool.Name, old.Pool.Name, name)...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Driver, old.Driver, specPath.Child("driver"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.NodeName, old.NodeName, specPath.Child("nodeName"))...)
	}
	return append(errs, declared(resourcev1.Validate_ResourceSliceSpec, specPath, spec, old)...)
}
