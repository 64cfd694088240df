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
		errs := resource.CheckClusterMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, nil)...)
	},
	PrepareUpdate: func(c, old *resourcev1.DeviceClass) {
		if !same(&c.Spec, &old.Spec) {
			c.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(c, old *resourcev1.DeviceClass) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
		return append(errs, declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, &old.Spec)...)
	},
}
