package admissionregistration

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
)

var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
)

// ValidateValidatingPolicy returns the errors of a new ValidatingAdmissionPolicy.
func ValidateValidatingPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	return validateValidatingPolicy(p, nil)
}

// validateValidatingPolicy returns the errors of a policy that was old before; nil for a new one.
func validateValidatingPolicy(p, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&p.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	spec, rules := &p.Spec, policyRules{}
	if old != nil {
		rules.before = validatingExpressions(&old.Spec)
		rules.sameConditions = equality.Semantic.DeepEqual(spec.ParamKind, old.Spec.ParamKind) &&
			equality.Semantic.DeepEqual(spec.MatchConditions, old.Spec.MatchConditions)
	}
	common := commonSpec{spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints, spec.MatchConditions, false}
	errs = append(errs, rules.validateCommon(common)...)
	compile, err := newCompiler(len(spec.Variables) > 0, spec.ParamKind != nil)
	if err != nil {
		return append(errs, errCompiler(err, specPath)...)
	}
	for n := range spec.Variables {
		at := specPath.Child("variables").Index(n)
		errs = append(errs, compile.validateVariable(&spec.Variables[n], rules.before, at)...)
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const message = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(specPath.Child("validations"), message),
			field.Required(specPath.Child("auditAnnotations"), message))
	}
	for n := range spec.Validations {
		at := specPath.Child("validations").Index(n)
		errs = append(errs, rules.validateValidation(compile, &spec.Validations[n], at)...)
	}
	return append(errs, rules.validateAnnotations(compile, p)...)
}

// policyRules are the rules of a policy.
type policyRules struct {
	// before are the expressions of the policy before an update.
	before stored
	// sameConditions: an update changes nothing that match conditions depend on, so they are not compiled again.
	sameConditions bool
}

// validatingExpressions returns the expressions of a policy.
func validatingExpressions(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) stored {
	all := sets.New[string]()
	for _, condition := range spec.MatchConditions {
		all.Insert(condition.Expression)
	}
	for _, validation := range spec.Validations {
		all.Insert(validation.Expression, validation.MessageExpression)
	}
	for _, annotation := range spec.AuditAnnotations {
		all.Insert(annotation.ValueExpression)
	}
	return stored(all)
}

// commonSpec are the fields that both kinds of policies have.
type commonSpec struct {
	failurePolicy *admissionregistrationv1.FailurePolicyType
	paramKind     *admissionregistrationv1.ParamKind
	constraints   *admissionregistrationv1.MatchResources
	conditions    []admissionregistrationv1.MatchCondition
	mutating      bool
}

func (r policyRules) validateCommon(spec commonSpec) field.ErrorList {
	errs := requireEnum(spec.failurePolicy, failurePolicies, specPath.Child("failurePolicy"))
	if spec.paramKind != nil {
		errs = append(errs, validateParamKind(spec.paramKind, specPath.Child("paramKind"))...)
	}
	path := specPath.Child("matchConstraints")
	if spec.constraints == nil {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, validateMatchResources(spec.constraints, path)...)
		if len(spec.constraints.ResourceRules) == 0 { // without rules there are no types to check
			errs = append(errs, field.Required(path.Child("resourceRules"), ""))
		}
		if spec.mutating {
			errs = append(errs, validateMutableOperations(spec.constraints, path)...)
		}
	}
	if r.sameConditions {
		return errs
	}
	c := conditions{list: spec.conditions, hasParams: spec.paramKind != nil, before: r.before}
	return append(errs, c.validate(specPath.Child("matchConditions"))...)
}

func validateParamKind(kind *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	errs := validateAPIVersion(kind.APIVersion, path.Child("apiVersion"))
	if kind.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	if messages := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(messages) > 0 {
		errs = append(errs, field.Invalid(path.Child("kind"), kind.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))
	}
	return errs
}

func validateAPIVersion(apiVersion string, path *field.Path) (errs field.ErrorList) {
	group, version, hasGroup := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "":
		return field.ErrorList{field.Required(path, "")}
	case strings.Count(apiVersion, "/") > 1:
		return field.ErrorList{field.Invalid(path, apiVersion, "unexpected GroupVersion string: "+apiVersion)}
	case !hasGroup:
		group, version = "", apiVersion
	}
	if group != "" {
		if messages := utilvalidation.IsDNS1123Subdomain(group); len(messages) > 0 {
			errs = append(errs, field.Invalid(path, group, strings.Join(messages, ",")))
		}
	}
	if version == "" {
		return append(errs, field.Invalid(path, apiVersion, "version must be specified"))
	}
	if messages := utilvalidation.IsDNS1035Label(version); len(messages) > 0 {
		errs = append(errs, field.Invalid(path, version, strings.Join(messages, ",")))
	}
	return errs
}

var reasons = []metav1.StatusReason{
	metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge,
}

func (r policyRules) validateValidation(
	c compiler, v *admissionregistrationv1.Validation, path *field.Path,
) (errs field.ErrorList) {
	if at := path.Child("expression"); strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(at, "expression is not specified"))
	} else {
		errs = append(errs, c.check(&policy.ValidationCondition{Expression: v.Expression},
			check{environment: r.before.environment(v.Expression)}, at)...)
	}
	if at := path.Child("messageExpression"); strings.TrimSpace(v.MessageExpression) != "" {
		errs = append(errs, c.check(&policy.MessageExpressionCondition{MessageExpression: v.MessageExpression},
			check{environment: r.before.environment(v.MessageExpression), noAuthorizer: true}, at)...)
	} else if v.MessageExpression != "" {
		errs = append(errs, field.Invalid(at, v.MessageExpression, "must be non-empty if specified"))
	}
	message := strings.TrimSpace(v.Message)
	if v.Message != "" && message == "" {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must be non-empty if specified"))
	} else if strings.ContainsAny(message, "\n\r") {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(errs, validateEnum(v.Reason, reasons, path.Child("reason"))...)
}

const (
	maxAnnotations = 20
	// maxAnnotationExpression is less than the limit of a value, because expressions mostly return longer strings than
	// they are.
	maxAnnotationExpression = 5 << 10
)

func (r policyRules) validateAnnotations(
	c compiler, p *admissionregistrationv1.ValidatingAdmissionPolicy,
) (errs field.ErrorList) {
	annotations, path := p.Spec.AuditAnnotations, specPath.Child("auditAnnotations")
	if len(annotations) > maxAnnotations {
		errs = append(errs, field.Invalid(path, annotations,
			fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations)))
	}
	keys := sets.New[string]()
	for n, annotation := range annotations {
		at := path.Index(n)
		errs = append(errs, validateQualifiedName(p.Name+"/"+annotation.Key, at.Child("key"))...)
		errs = append(errs, r.validateAnnotation(c, annotation.ValueExpression, at.Child("valueExpression"))...)
		if keys.Has(annotation.Key) {
			errs = append(errs, field.Duplicate(at.Child("key"), annotation.Key))
		}
		keys.Insert(annotation.Key)
	}
	return errs
}

func (r policyRules) validateAnnotation(c compiler, expression string, path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(expression)
	switch {
	case trimmed == "":
		return field.ErrorList{field.Required(path, "valueExpression is not specified")}
	case len(trimmed) > maxAnnotationExpression:
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("must not exceed %d bytes in length", maxAnnotationExpression))}
	}
	return c.check(&policy.AuditAnnotationCondition{ValueExpression: trimmed},
		check{environment: r.before.environment(expression)}, path)
}
