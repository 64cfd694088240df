package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var taintRules = resource.Typed[*resourcev1.DeviceTaintRule]{
	Prepare: func(r *resourcev1.DeviceTaintRule) {
		r.Status, r.Generation = resourcev1.DeviceTaintRuleStatus{}, 1
	},
	Check: func(r *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := resource.CheckClusterMetadata(&r.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, checkTaintRule(&r.Spec, nil)...)
	},
	PrepareUpdate: prepareTaintUpdate,
	CheckUpdate: func(r, old *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta)
		return append(errs, checkTaintRule(&r.Spec, &old.Spec)...)
	},
	RequiresVersion: true,
}

// prepareTaintUpdate keeps the status. The time of a taint is that of its effect, unless the client sets another one.
func prepareTaintUpdate(r, old *resourcev1.DeviceTaintRule) {
	r.Status = old.Status
	taint, before := &r.Spec.Taint, &old.Spec.Taint
	if taint.Effect != before.Effect && taint.TimeAdded.Equal(before.TimeAdded) {
		taint.TimeAdded = now()
	}
	if !equality.Semantic.DeepEqual(r.Spec, old.Spec) {
		r.Generation = old.Generation + 1
	}
}

var taintStatusRules = resource.Typed[*resourcev1.DeviceTaintRule]{
	PrepareUpdate: func(r, old *resourcev1.DeviceTaintRule) {
		r.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &old.ObjectMeta)
	},
	CheckUpdate: func(r, old *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta)
		conditions := r.Status.Conditions
		errs = append(errs, metav1validation.ValidateConditions(conditions, statusPath.Child("conditions"))...)
		if len(conditions) > resourcev1.DeviceTaintRuleStatusMaxConditions {
			errs = append(errs, field.TooMany(statusPath.Child("conditions"), len(conditions),
				resourcev1.DeviceTaintRuleStatusMaxConditions))
		}
		return append(errs, declared(resourcev1.Validate_DeviceTaintRuleStatus, statusPath, &r.Status, &old.Status)...)
	},
	RequiresVersion: true,
}

func checkTaintRule(spec, old *resourcev1.DeviceTaintRuleSpec) (errs field.ErrorList) {
	if selector, path := spec.DeviceSelector, specPath.Child("deviceSelector"); selector != nil {
		if selector.Driver != nil {
			errs = append(errs, checkDriver(*selector.Driver, path.Child("driver"))...)
		}
		if selector.Pool != nil {
			errs = append(errs, checkPool(*selector.Pool, path.Child("pool"))...)
		}
		if selector.Device != nil {
			errs = append(errs, checkLabel(*selector.Device, path.Child("device"))...)
		}
	}
	errs = append(errs, checkTaint(&spec.Taint, specPath.Child("taint"))...)
	return append(errs, declared(resourcev1.Validate_DeviceTaintRuleSpec, specPath, spec, old)...)
}

// checkTaint checks the key and the value of a taint. The effect has declarative rules.
func checkTaint(taint *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelName(taint.Key, path.Child("key"))
	return append(errs, invalid(path.Child("value"), taint.Value, validation.IsValidLabelValue(taint.Value))...)
}
