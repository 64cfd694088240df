package admissionregistration

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/util/jsonpath"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// validateValidatingPolicy returns the errors of a policy that was old before.
func validateValidatingPolicy(p, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	errs, spec := validateMeta(p), &p.Spec
	c, common := validatingSpec(spec).validate(validatingSpec(&old.Spec))
	errs = append(errs, common...)
	validations, annotations := specPath.Child("validations"), specPath.Child("auditAnnotations")
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const message = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(validations, message), field.Required(annotations, message))
	}
	errs = append(errs, rules.Each(spec.Validations, validations, c.checkValidation)...)
	return append(errs, c.checkAnnotations(p, annotations)...)
}

func validatingSpec(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) *policySpec {
	s := &policySpec{
		failurePolicy: spec.FailurePolicy, paramKind: spec.ParamKind, constraints: spec.MatchConstraints,
		conditions: spec.MatchConditions, variables: spec.Variables,
	}
	for _, validation := range spec.Validations {
		s.expressions = append(s.expressions, validation.Expression, validation.MessageExpression)
	}
	for _, annotation := range spec.AuditAnnotations {
		s.expressions = append(s.expressions, strings.TrimSpace(annotation.ValueExpression))
	}
	return s
}

func (c compiler) checkValidation(v *admissionregistrationv1.Validation, path *field.Path) (errs field.ErrorList) {
	if at := path.Child("expression"); strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(at, "expression is not specified"))
	} else {
		errs = append(errs, c.check(&policy.ValidationCondition{Expression: v.Expression}, withAuthorizer, at)...)
	}
	const empty = "must be non-empty if specified"
	if at := path.Child("messageExpression"); strings.TrimSpace(v.MessageExpression) != "" {
		message := &policy.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		errs = append(errs, c.check(message, plugincel.OptionalVariableDeclarations{}, at)...)
	} else if v.MessageExpression != "" {
		errs = append(errs, field.Invalid(at, v.MessageExpression, empty))
	}
	at, message := path.Child("message"), strings.TrimSpace(v.Message)
	if v.Message != "" && message == "" {
		errs = append(errs, field.Invalid(at, v.Message, empty))
	} else if strings.ContainsAny(message, "\n\r") {
		errs = append(errs, field.Invalid(at, v.Message, "must not contain line breaks"))
	}
	return append(errs, validateEnum(v.Reason, reasons, path.Child("reason"))...)
}

var reasons = []metav1.StatusReason{
	metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge,
}

const (
	maxAnnotations = 20
	// maxAnnotationExpression is less than the limit of a value, because expressions mostly return longer strings than
	// they are.
	maxAnnotationExpression = 5 << 10
)

func (c compiler) checkAnnotations(
	p *admissionregistrationv1.ValidatingAdmissionPolicy, path *field.Path,
) (errs field.ErrorList) {
	annotations := p.Spec.AuditAnnotations
	if len(annotations) > maxAnnotations {
		errs = append(errs, field.Invalid(path, annotations,
			fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations)))
	}
	unique := rules.Unique[string]()
	for n, annotation := range annotations {
		key := path.Index(n).Child("key")
		errs = append(errs, rules.QualifiedName(p.Name+"/"+annotation.Key, key)...)
		errs = append(errs, c.checkAnnotation(annotation.ValueExpression, path.Index(n).Child("valueExpression"))...)
		errs = append(errs, unique(annotation.Key, key)...)
	}
	return errs
}

func (c compiler) checkAnnotation(expression string, path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(expression)
	switch {
	case trimmed == "":
		return field.ErrorList{field.Required(path, "valueExpression is not specified")}
	case len(trimmed) > maxAnnotationExpression:
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("must not exceed %d bytes in length", maxAnnotationExpression))}
	}
	return c.check(&policy.AuditAnnotationCondition{ValueExpression: trimmed}, withAuthorizer, path)
}

// validatePolicyStatus returns the errors of the status of a policy.
func validatePolicyStatus(p, _ *admissionregistrationv1.ValidatingAdmissionPolicy) (errs field.ErrorList) {
	path := field.NewPath("status")
	if checked := p.Status.TypeChecking; checked != nil {
		errs = rules.Each(checked.ExpressionWarnings, path.Child("typeChecking", "expressionWarnings"), validateWarning)
	}
	return append(errs, metav1validation.ValidateConditions(p.Status.Conditions, path.Child("conditions"))...)
}

func validateWarning(w *admissionregistrationv1.ExpressionWarning, path *field.Path) field.ErrorList {
	errs := rules.Required(w.Warning, path.Child("warning"))
	path = path.Child("fieldRef")
	ref := strings.TrimSpace(w.FieldRef)
	if ref == "" {
		return append(errs, field.Required(path, ""))
	}
	if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
		errs = append(errs, field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err)))
	}
	return errs
}
