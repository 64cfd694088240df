package admissionregistration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// validateValidatingBinding returns the errors of a ValidatingAdmissionPolicyBinding.
func validateValidatingBinding(b, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return slices.Concat(
		validateMeta(&b.ObjectMeta),
		rules.RequiredName(b.Spec.PolicyName, specPath.Child("policyName"), apivalidation.NameIsDNSSubdomain),
		validateParamRef(b.Spec.ParamRef, specPath.Child("paramRef")),
		validateMatchResources(b.Spec.MatchResources, specPath.Child("matchResources")),
		validateActions(b.Spec.ValidationActions, specPath.Child("validationActions")),
	)
}

// validateMutatingBinding returns the errors of a MutatingAdmissionPolicyBinding.
func validateMutatingBinding(b, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return slices.Concat(
		validateMeta(&b.ObjectMeta),
		rules.RequiredName(b.Spec.PolicyName, specPath.Child("policyName"), apivalidation.NameIsDNSSubdomain),
		validateParamRef(b.Spec.ParamRef, specPath.Child("paramRef")),
		validateMutableResources(b.Spec.MatchResources, specPath.Child("matchResources")),
	)
}

func validateParamRef(ref *admissionregistrationv1.ParamRef, path *field.Path) (errs field.ErrorList) {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	both := ref.Name != "" && ref.Selector != nil
	if ref.Name != "" {
		errs = append(errs, rules.Messages(path.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
	}
	errs = append(errs, rules.When(both, field.Forbidden(path.Child("name"), exclusive))...)
	errs = append(errs, validateSelector(ref.Selector, path.Child("selector"))...)
	errs = append(errs, rules.When(both, field.Forbidden(path.Child("selector"), exclusive))...)
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	return append(errs, rules.OneOf(ptr.Deref(ref.ParameterNotFoundAction, ""), path.Child("parameterNotFoundAction"),
		admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction)...)
}

func validateActions(list []admissionregistrationv1.ValidationAction, path *field.Path) field.ErrorList {
	unique := rules.Unique[admissionregistrationv1.ValidationAction]()
	var errs field.ErrorList
	for n, action := range list {
		errs = append(errs, rules.Known(action, path.Index(n), // sorted as the error lists them
			admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn)...)
		errs = append(errs, unique(action, path.Index(n))...)
	}
	if slices.Contains(list, admissionregistrationv1.Deny) && slices.Contains(list, admissionregistrationv1.Warn) {
		errs = append(errs, field.Invalid(path, list, "must not contain both Deny and Warn "+
			"(repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	if len(list) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	return errs
}
