package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	Warn: warnOfDriver,
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
	WarnUpdate: func(s, _ *resourcev1.ResourceSlice) []string { return warnOfDriver(s) },
}

func warnOfDriver(s *resourcev1.ResourceSlice) []string {
	driver := s.Spec.Driver
	if driver == strings.ToLower(driver) {
		return nil
	}
	const text = "spec.driver: driver names should be lowercase; %q contains uppercase characters"
	return []string{fmt.Sprintf(text, driver)}
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

// checkSlice checks a slice. Of its devices it checks names, nodes, taints and the declarative rules.
func checkSlice(spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	errs := checkDriver(spec.Driver, specPath.Child("driver"))
	pool := specPath.Child("pool")
	errs = append(errs, checkPool(spec.Pool.Name, pool.Child("name"))...)
	if count := spec.Pool.ResourceSliceCount; count <= 0 {
		errs = append(errs, field.Invalid(pool.Child("resourceSliceCount"), count, "must be greater than zero"))
	}
	if generation := spec.Pool.Generation; generation < 0 {
		errs = append(errs, field.Invalid(pool.Child("generation"), generation, "must be greater than or equal to zero"))
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Pool.Name, old.Pool.Name, pool.Child("name"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Driver, old.Driver, specPath.Child("driver"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.NodeName, old.NodeName, specPath.Child("nodeName"))...)
	}
	errs = append(errs, checkNodes(spec)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(specPath, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	errs = append(errs, checkDevices(spec)...)
	return append(errs, declared(resourcev1.Validate_ResourceSliceSpec, specPath, spec, old)...)
}

// checkNodes checks that a slice says in one way which nodes have access to its devices.
func checkNodes(spec *resourcev1.ResourceSliceSpec) (errs field.ErrorList) {
	var set []string
	if name := spec.NodeName; name != nil {
		path := specPath.Child("nodeName")
		if *name == "" {
			errs = append(errs, field.Invalid(path, *name, "must be either unset or set to a non-empty string"))
		} else {
			set = append(set, "`nodeName`")
			errs = append(errs, invalid(path, *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
		}
	}
	if selector := spec.NodeSelector; selector != nil {
		set = append(set, "`nodeSelector`")
		if terms := selector.NodeSelectorTerms; len(terms) != 1 {
			path := specPath.Child("nodeSelector", "nodeSelectorTerms")
			errs = append(errs, field.Invalid(path, terms, "must have exactly one node selector term"))
		}
	}
	for _, flag := range []struct {
		name  string
		value *bool
	}{{"allNodes", spec.AllNodes}, {"perDeviceNodeSelection", spec.PerDeviceNodeSelection}} {
		switch {
		case flag.value == nil:
		case *flag.value:
			set = append(set, "`"+flag.name+"`")
		default:
			errs = append(errs, field.Invalid(specPath.Child(flag.name), false, "must be either unset or set to true"))
		}
	}
	const exactlyOne = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch len(set) {
	case 0:
		errs = append(errs, field.Required(specPath, exactlyOne))
	case 1:
	default:
		value := "{" + strings.Join(set, ", ") + "}"
		errs = append(errs, field.Invalid(specPath, value, exactlyOne+", but multiple fields are set"))
	}
	return errs
}

// checkDevices checks the names and taints of the devices of a slice, and their number.
func checkDevices(spec *resourcev1.ResourceSliceSpec) (errs field.ErrorList) {
	path, most := specPath.Child("devices"), resourcev1.ResourceSliceMaxDevices
	for n := range spec.Devices {
		if len(spec.Devices[n].Taints) > 0 || len(spec.Devices[n].ConsumesCounters) > 0 {
			most = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
		}
	}
	if len(spec.Devices) > most {
		return field.ErrorList{field.TooMany(path, len(spec.Devices), most)}
	}
	for n := range spec.Devices {
		device, path := &spec.Devices[n], path.Index(n)
		errs = append(errs, checkLabel(device.Name, path.Child("name"))...)
		for _, name := range slices.Sorted(maps.Keys(device.Attributes)) {
			errs = append(errs, checkQualifiedName(string(name), path.Child("attributes"))...)
		}
		for _, name := range slices.Sorted(maps.Keys(device.Capacity)) {
			errs = append(errs, checkQualifiedName(string(name), path.Child("capacity"))...)
		}
		for m := range device.Taints {
			errs = append(errs, checkTaint(&device.Taints[m], path.Child("taints").Index(m))...)
		}
	}
	seen := map[string]bool{}
	for n := range spec.Devices {
		name := spec.Devices[n].Name
		if seen[name] {
			errs = append(errs, field.Duplicate(path.Index(n), name))
		}
		seen[name] = true
	}
	return errs
}
