package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		return append(errs, declared(resourcev1.Validate_ResourceClaimSpec, specPath, &c.Spec, nil)...)
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
	return append(errs, declared(resourcev1.Validate_ResourceClaimTemplateSpec, specPath, &t.Spec, nil)...)
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

var claimStatusRules = resource.Typed[*resourcev1.ResourceClaim]{
	PrepareUpdate: func(c, old *resourcev1.ResourceClaim) {
		c.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&c.ObjectMeta, &old.ObjectMeta)
		dropAlphaResults(&c.Status)
		dropDeallocated(&c.Status, &old.Status)
	},
	CheckUpdate: func(c, old *resourcev1.ResourceClaim) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
		errs = append(errs, checkAllocated(&c.Status)...)
		return append(errs, declared(resourcev1.Validate_ResourceClaimStatus, statusPath, &c.Status, &old.Status)...)
	},
}
