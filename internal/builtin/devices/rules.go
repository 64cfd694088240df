package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// classStrategy returns the strategy of classes. White space in the parameters of drivers is no change.
func classStrategy() resource.Strategy {
	rules := classRules.Rules()
	rules.PrepareUpdate = func(c, old *resourcev1.DeviceClass) {
		if !same(&c.Spec, &old.Spec) {
			c.Generation = old.Generation + 1
		}
	}
	return rules
}

var classRules = resource.Plain[*resourcev1.DeviceClass]{
	Counts: true,
	Check: func(c *resourcev1.DeviceClass) field.ErrorList {
		return declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, nil)
	},
	CheckUpdate: func(c, old *resourcev1.DeviceClass) field.ErrorList {
		return declared(resourcev1.Validate_DeviceClassSpec, specPath, &c.Spec, &old.Spec)
	},
}

var sliceRules = resource.Plain[*resourcev1.ResourceSlice]{
	Counts: true, Constant: []string{"spec.pool.name", "spec.driver", "spec.nodeName"},
	Check: func(s *resourcev1.ResourceSlice) field.ErrorList {
		return declared(resourcev1.Validate_ResourceSliceSpec, specPath, &s.Spec, nil)
	},
	CheckUpdate: func(s, old *resourcev1.ResourceSlice) field.ErrorList {
		return declared(resourcev1.Validate_ResourceSliceSpec, specPath, &s.Spec, &old.Spec)
	},
}

var taintRules = resource.Plain[*resourcev1.DeviceTaintRule]{
	Counts: true, RequiresVersion: true,
	Check: func(r *resourcev1.DeviceTaintRule) field.ErrorList {
		return declared(resourcev1.Validate_DeviceTaintRuleSpec, specPath, &r.Spec, nil)
	},
	CheckUpdate: func(r, old *resourcev1.DeviceTaintRule) field.ErrorList {
		return declared(resourcev1.Validate_DeviceTaintRuleSpec, specPath, &r.Spec, &old.Spec)
	},
	CheckStatus: func(r, old *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := metav1validation.ValidateConditions(r.Status.Conditions, statusPath.Child("conditions"))
		return append(errs, declared(resourcev1.Validate_DeviceTaintRuleStatus, statusPath, &r.Status, &old.Status)...)
	},
}

// taintStrategy returns the strategy of taint rules. The time of a taint is when it got its effect, unless the client
// sets another one.
func taintStrategy() resource.Strategy {
	rules := taintRules.Rules()
	rules.PrepareUpdate = func(r, old *resourcev1.DeviceTaintRule) {
		taint, before := &r.Spec.Taint, &old.Spec.Taint
		if taint.Effect != before.Effect && taint.TimeAdded.Equal(before.TimeAdded) {
			taint.TimeAdded = now()
		}
		resource.Follow(r, old)
	}
	return rules
}
