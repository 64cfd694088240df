package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// ValidateValidatingBinding returns the errors of a ValidatingAdmissionPolicyBinding.
func ValidateValidatingBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&b.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	errs = append(errs, validatePolicyName(b.Spec.PolicyName)...)
	errs = append(errs, validateParamRef(b.Spec.ParamRef, specPath.Child("paramRef"))...)
	errs = append(errs, validateMatchResources(b.Spec.MatchResources, specPath.Child("matchResources"))...)
	return append(errs, validateActions(b.Spec.ValidationActions, specPath.Child("validationActions"))...)
}

// ValidateMutatingBinding returns the errors of a MutatingAdmissionPolicyBinding.
func ValidateMutatingBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&b.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	errs = append(errs, validatePolicyName(b.Spec.PolicyName)...)
	errs = append(errs, validateParamRef(b.Spec.ParamRef, specPath.Child("paramRef"))...)
	path := specPath.Child("matchResources")
	errs = append(errs, validateMatchResources(b.Spec.MatchResources, path)...)
	if b.Spec.MatchResources != nil {
		errs = append(errs, validateMutableOperations(b.Spec.MatchResources, path)...)
	}
	return errs
}

func validatePolicyName(name string) field.ErrorList {
	path := specPath.Child("policyName")
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return rules.Messages(path, name, apivalidation.NameIsDNSSubdomain(name, false))
}

func validateParamRef(ref *admissionregistrationv1.ParamRef, path *field.Path) (errs field.ErrorList) {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	if ref.Name != "" {
		errs = append(errs, rules.Messages(path.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
		if ref.Selector != nil {
			errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if ref.Selector != nil {
		strict := metav1validation.LabelSelectorValidationOptions{}
		errs = append(errs, metav1validation.ValidateLabelSelector(ref.Selector, strict, path.Child("selector"))...)
		if ref.Name != "" {
			errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	return append(errs, validateNotFoundAction(ref.ParameterNotFoundAction, path.Child("parameterNotFoundAction"))...)
}

// notFoundActions are listed in errors in this order.
var notFoundActions = []admissionregistrationv1.ParameterNotFoundActionType{
	admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction,
}

func validateNotFoundAction(
	action *admissionregistrationv1.ParameterNotFoundActionType, path *field.Path,
) field.ErrorList {
	if action == nil || *action == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateEnum(action, notFoundActions, path)
}

// actions are sorted as errors list them.
var actions = []admissionregistrationv1.ValidationAction{
	admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn,
}

func validateActions(list []admissionregistrationv1.ValidationAction, path *field.Path) (errs field.ErrorList) {
	seen := sets.New[admissionregistrationv1.ValidationAction]()
	for n, action := range list {
		errs = append(errs, validateEnum(&action, actions, path.Index(n))...)
		if seen.Has(action) {
			errs = append(errs, field.Duplicate(path.Index(n), action))
		}
		seen.Insert(action)
	}
	if seen.HasAll(admissionregistrationv1.Deny, admissionregistrationv1.Warn) {
		errs = append(errs, field.Invalid(path, list, "must not contain both Deny and Warn "+
			"(repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	if len(list) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	return errs
}
