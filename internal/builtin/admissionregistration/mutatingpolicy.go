package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// validateMutatingPolicy returns the errors of a policy that was old before.
func validateMutatingPolicy(p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	errs, spec := validateMeta(p), &p.Spec
	c, common := mutatingSpec(spec).validate(mutatingSpec(&old.Spec))
	errs = append(errs, common...)
	path := specPath.Child("mutations")
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path, "mutations must contain at least one item"))
	}
	errs = append(errs, rules.Each(spec.Mutations, path, c.checkMutation)...)
	return append(errs, rules.OneOf(spec.ReinvocationPolicy, specPath.Child("reinvocationPolicy"),
		reinvocationPolicies...)...)
}

func mutatingSpec(spec *admissionregistrationv1.MutatingAdmissionPolicySpec) *policySpec {
	s := &policySpec{
		failurePolicy: spec.FailurePolicy, paramKind: spec.ParamKind, constraints: spec.MatchConstraints,
		conditions: spec.MatchConditions, variables: spec.Variables, mutating: true,
	}
	for n := range spec.Mutations {
		for _, p := range patchesOf(&spec.Mutations[n]) {
			if p.expression != nil {
				s.expressions = append(s.expressions, p.expression.GetExpression())
			}
		}
	}
	return s
}

// patchField is a field of a mutation. Its expression is nil if it is missing.
type patchField struct {
	kind       admissionregistrationv1.PatchType
	name       string
	expression plugincel.ExpressionAccessor
}

// patchesOf returns the fields of which a mutation has one, that of its type first.
func patchesOf(m *admissionregistrationv1.Mutation) []patchField {
	configuration := patchField{kind: admissionregistrationv1.PatchTypeApplyConfiguration, name: "applyConfiguration"}
	if m.ApplyConfiguration != nil {
		expression := strings.TrimSpace(m.ApplyConfiguration.Expression)
		configuration.expression = &patch.ApplyConfigurationCondition{Expression: expression}
	}
	operations := patchField{kind: admissionregistrationv1.PatchTypeJSONPatch, name: "jsonPatch"}
	if m.JSONPatch != nil {
		operations.expression = &patch.JSONPatchCondition{Expression: strings.TrimSpace(m.JSONPatch.Expression)}
	}
	if m.PatchType == operations.kind {
		return []patchField{operations, configuration}
	}
	return []patchField{configuration, operations}
}

// checkMutation checks that a mutation has the field of its type, and no other one.
func (c compiler) checkMutation(m *admissionregistrationv1.Mutation, path *field.Path) (errs field.ErrorList) {
	errs = rules.OneOf(m.PatchType, path.Child("patchType"),
		admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch)
	if len(errs) > 0 {
		return errs
	}
	for _, p := range patchesOf(m) {
		at := path.Child(p.name)
		switch {
		case p.kind != m.PatchType && p.expression == nil:
		case p.kind != m.PatchType:
			errs = append(errs, field.Invalid(at, "{"+p.name+"}",
				"must not be specified when patchType is "+string(m.PatchType)))
		case p.expression == nil:
			errs = append(errs, field.Required(at, "must be specified when patchType is "+string(m.PatchType)))
		case p.expression.GetExpression() == "":
			errs = append(errs, field.Required(at.Child("expression"), ""))
		default:
			uses := plugincel.OptionalVariableDeclarations{HasAuthorizer: true, HasPatchTypes: true}
			errs = append(errs, c.check(p.expression, uses, at.Child("expression"))...)
		}
	}
	return errs
}
