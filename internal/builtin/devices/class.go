package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var classRules = resource.Typed[*resourcev1.DeviceClass]{
	Prepare: func(c *resourcev1.DeviceClass) { c.Generation = 1 },
	Check: func(c *resourcev1.DeviceClass) field.ErrorList {
		errs := resource.CheckClusterMetadata(&c.ObjectMeta, anyName)
		errs = append(errs, checkClass(&c.Spec, nil)...)
		if c.Name != "" {
			texts := apivalidation.NameIsDNSSubdomain(c.Name, false)
			errs = append(errs, invalid(field.NewPath("metadata", "name"), c.Name, texts)...)
		}
		return append(errs, declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, nil)...)
	},
	PrepareUpdate: func(c, old *resourcev1.DeviceClass) {
		if !same(&c.Spec, &old.Spec) {
			c.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(c, old *resourcev1.DeviceClass) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
		errs = append(errs, checkClass(&c.Spec, &old.Spec)...)
		return append(errs, declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, &old.Spec)...)
	},
}

// checkClass checks the spec of a class, besides the declarative rules.
func checkClass(spec, old *resourcev1.DeviceClassSpec) (errs field.ErrorList) {
	known := old != nil && same(spec.Selectors, old.Selectors)
	errs = checkSelectors(spec.Selectors, specPath.Child("selectors"), known)
	stored := old != nil && same(spec.Config, old.Config)
	if len(spec.Config) <= resourcev1.DeviceConfigMaxSize {
		for n := range spec.Config {
			path := specPath.Child("config").Index(n)
			errs = append(errs, checkConfiguration(&spec.Config[n].DeviceConfiguration, path, stored)...)
		}
	}
	return errs
}

// anyName accepts all names: the name of a class has a declarative rule.
func anyName(string, bool) []string { return nil }

// checkConfiguration checks the parameters of a driver. The name of the driver has declarative rules.
func checkConfiguration(c *resourcev1.DeviceConfiguration, path *field.Path, stored bool) field.ErrorList {
	path = path.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return checkParameters(c.Opaque.Parameters, path.Child("parameters"), stored)
}
