package admissionregistration

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// validatingPolicyRules are the rules of ValidatingAdmissionPolicies, which have a status.
type validatingPolicyRules struct{ strategy }

func newValidatingPolicyRules() validatingPolicyRules {
	return validatingPolicyRules{strategy{
		desired: func(obj runtime.Object) any { return obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec },
		validate: func(obj, old runtime.Object) field.ErrorList {
			before, _ := old.(*admissionregistrationv1.ValidatingAdmissionPolicy)
			return validateValidatingPolicy(obj.(*admissionregistrationv1.ValidatingAdmissionPolicy), before)
		},
	}}
}

// PrepareForCreate clears the status.
func (r validatingPolicyRules) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status =
		admissionregistrationv1.ValidatingAdmissionPolicyStatus{}
	r.strategy.PrepareForCreate(ctx, obj)
}

// PrepareForUpdate keeps the status.
func (r validatingPolicyRules) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	before := old.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status = before.Status
	r.strategy.PrepareForUpdate(ctx, obj, old)
}

// statusRules are the rules of the status of a ValidatingAdmissionPolicy.
type statusRules struct{ validatingPolicyRules }

// PrepareForUpdate keeps everything but the status.
func (statusRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	p := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	before := old.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	p.Spec = before.Spec
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &before.ObjectMeta)
}

// ValidateUpdate checks the status.
func (statusRules) ValidateUpdate(_ context.Context, obj, _ runtime.Object) (errs field.ErrorList) {
	status, path := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status, field.NewPath("status")
	if status.TypeChecking != nil {
		for n, warning := range status.TypeChecking.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(n)
			if warning.Warning == "" {
				errs = append(errs, field.Required(at.Child("warning"), ""))
			}
			errs = append(errs, validateFieldRef(strings.TrimSpace(warning.FieldRef), at.Child("fieldRef"))...)
		}
	}
	return append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
}

func validateFieldRef(ref string, path *field.Path) field.ErrorList {
	if ref == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := jsonpath.New("spec").Parse(fmt.Sprintf("{%s}", ref)); err != nil {
		return field.ErrorList{field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err))}
	}
	return nil
}
