package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var claimRules = resource.Typed[*resourcev1.ResourceClaim]{
	Prepare: func(c *resourcev1.ResourceClaim) {
		c.Status = resourcev1.ResourceClaimStatus{}
		dropAlphaRequests(&c.Spec)
	},
	Check: func(c *resourcev1.ResourceClaim) field.ErrorList {
		errs := resource.CheckMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, checkClaim(&c.Spec, specPath)...)
	},
	PrepareUpdate: func(c, old *resourcev1.ResourceClaim) { c.Status = old.Status },
	CheckUpdate: func(c, old *resourcev1.ResourceClaim) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
		return append(errs, checkUnchanged(&c.Spec, &old.Spec, nil)...)
	},
}

var templateRules = resource.Typed[*resourcev1.ResourceClaimTemplate]{
	Prepare: func(t *resourcev1.ResourceClaimTemplate) { dropAlphaRequests(&t.Spec.Spec) },
	Check:   checkTemplate,
	CheckUpdate: func(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
		errs := append(checkTemplate(t), resource.CheckMetadataUpdate(&t.ObjectMeta, &old.ObjectMeta)...)
		return append(errs, checkUnchanged(&t.Spec, &old.Spec, &t.Spec)...)
	},
}

func checkTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := resource.CheckMetadata(&t.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	m, path := &t.Spec.ObjectMeta, specPath.Child("metadata")
	errs = append(errs, apivalidation.ValidateAnnotations(m.Annotations, path.Child("annotations"))...)
	errs = append(errs, metav1validation.ValidateLabels(m.Labels, path.Child("labels"))...)
	return append(errs, checkClaim(&t.Spec.Spec, specPath.Child("spec"))...)
}

// dropAlphaRequests clears the fields of features that are off by default.
func dropAlphaRequests(spec *resourcev1.ResourceClaimSpec) {
	for n := range spec.Devices.Requests {
		request := &spec.Devices.Requests[n]
		if request.Exactly != nil {
			request.Exactly.DerivedAttributes = nil
		}
		for m := range request.FirstAvailable {
			request.FirstAvailable[m].DerivedAttributes = nil
		}
	}
}

// checkClaim checks the spec of a new claim.
func checkClaim(spec *resourcev1.ResourceClaimSpec, path *field.Path) (errs field.ErrorList) {
	devices, path0 := &spec.Devices, path.Child("devices")
	names := requestNames(devices.Requests)
	if len(devices.Requests) <= resourcev1.DeviceRequestsMaxSize {
		for n := range devices.Requests {
			errs = append(errs, checkRequest(&devices.Requests[n], path0.Child("requests").Index(n))...)
		}
	}
	if len(devices.Constraints) <= resourcev1.DeviceConstraintsMaxSize {
		for n := range devices.Constraints {
			errs = append(errs, checkConstraint(&devices.Constraints[n], path0.Child("constraints").Index(n), names)...)
		}
	}
	if len(devices.Config) <= resourcev1.DeviceConfigMaxSize {
		for n := range devices.Config {
			config, path := &devices.Config[n], path0.Child("config").Index(n)
			errs = append(errs, names.check(config.Requests, path.Child("requests"))...)
			errs = append(errs, checkConfiguration(&config.DeviceConfiguration, path, false)...)
		}
	}
	return append(errs, declared(resourcev1.Validate_ResourceClaimSpec, path, spec, nil)...)
}

func checkConstraint(c *resourcev1.DeviceConstraint, path *field.Path, names requests) field.ErrorList {
	errs := names.check(c.Requests, path.Child("requests"))
	if c.MatchAttribute == nil && c.DistinctAttribute == nil {
		const text = `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`
		errs = append(errs, field.Required(path, text))
	}
	return errs
}

var claimStatusRules = resource.Typed[*resourcev1.ResourceClaim]{
	PrepareUpdate: func(c, old *resourcev1.ResourceClaim) {
		c.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&c.ObjectMeta, &old.ObjectMeta)
		dropAlphaResults(&c.Status)
		dropDeallocated(&c.Status, &old.Status)
	},
	CheckUpdate: checkClaimStatus,
}
