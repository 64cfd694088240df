package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var taintRules = resource.Typed[*resourcev1.DeviceTaintRule]{
	Prepare: func(r *resourcev1.DeviceTaintRule) {
		r.Status, r.Generation = resourcev1.DeviceTaintRuleStatus{}, 1
	},
	Check: func(r *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := resource.CheckClusterMetadata(&r.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, declared(resourcev1.Validate_DeviceTaintRuleSpec, specPath, &r.Spec, nil)...)
	},
	PrepareUpdate: prepareTaintUpdate,
	CheckUpdate: func(r, old *resourcev1.DeviceTaintRule) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta)
		return append(errs, declared(resourcev1.Validate_DeviceTaintRuleSpec, specPath, &r.Spec, &old.Spec)...)
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
		conditions := statusPath.Child("conditions")
		errs = append(errs, metav1validation.ValidateConditions(r.Status.Conditions, conditions)...)
		return append(errs, declared(resourcev1.Validate_DeviceTaintRuleStatus, statusPath, &r.Status, &old.Status)...)
	},
	RequiresVersion: true,
}
