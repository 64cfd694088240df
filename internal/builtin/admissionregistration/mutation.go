package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
)

// ValidateMutatingPolicy returns the errors of a new MutatingAdmissionPolicy.
func ValidateMutatingPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	return validateMutatingPolicy(p, nil)
}

// validateMutatingPolicy returns the errors of a policy that was old before; nil for a new one.
func validateMutatingPolicy(p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&p.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	spec, rules := &p.Spec, policyRules{}
	if old != nil {
		rules.before = mutatingExpressions(&old.Spec)
		rules.sameConditions = equality.Semantic.DeepEqual(spec.ParamKind, old.Spec.ParamKind) &&
			equality.Semantic.DeepEqual(spec.MatchConditions, old.Spec.MatchConditions)
	}
	common := commonSpec{spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints, spec.MatchConditions, true}
	errs = append(errs, rules.validateCommon(common)...)
	compile, err := newCompiler(true, spec.ParamKind != nil)
	if err != nil {
		return append(errs, errCompiler(err, specPath)...)
	}
	for n := range spec.Variables {
		at := specPath.Child("variables").Index(n)
		errs = append(errs, compile.validateVariable(&spec.Variables[n], rules.before, at)...)
	}
	path := specPath.Child("mutations")
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path, "mutations must contain at least one item"))
	}
	for n := range spec.Mutations {
		errs = append(errs, rules.validateMutation(compile, &spec.Mutations[n], path.Index(n))...)
	}
	path = specPath.Child("reinvocationPolicy")
	if spec.ReinvocationPolicy == "" {
		return append(errs, field.Required(path, ""))
	}
	return append(errs, validateEnum(&spec.ReinvocationPolicy, reinvocationPolicies, path)...)
}

// mutatingExpressions returns the expressions of a policy.
func mutatingExpressions(spec *admissionregistrationv1.MutatingAdmissionPolicySpec) stored {
	all := sets.New[string]()
	for _, condition := range spec.MatchConditions {
		all.Insert(condition.Expression)
	}
	for _, mutation := range spec.Mutations {
		if mutation.ApplyConfiguration != nil {
			all.Insert(mutation.ApplyConfiguration.Expression)
		}
		if mutation.JSONPatch != nil {
			all.Insert(mutation.JSONPatch.Expression)
		}
	}
	return stored(all)
}

// patchTypes are sorted as errors list them.
var patchTypes = []admissionregistrationv1.PatchType{
	admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch,
}

func (r policyRules) validateMutation(
	c compiler, m *admissionregistrationv1.Mutation, path *field.Path,
) (errs field.ErrorList) {
	configuration, operations := path.Child("applyConfiguration"), path.Child("jsonPatch")
	switch m.PatchType {
	case "":
		return field.ErrorList{field.Required(path.Child("patchType"), "")}
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(operations, "must be specified when patchType is JSONPatch"))
		} else {
			expression := &patch.JSONPatchCondition{Expression: strings.TrimSpace(m.JSONPatch.Expression)}
			errs = append(errs, r.validatePatch(c, expression, operations.Child("expression"))...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(configuration, "{applyConfiguration}",
				"must not be specified when patchType is JSONPatch"))
		}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(configuration, "must be specified when patchType is ApplyConfiguration"))
		} else {
			expression := &patch.ApplyConfigurationCondition{Expression: strings.TrimSpace(m.ApplyConfiguration.Expression)}
			errs = append(errs, r.validatePatch(c, expression, configuration.Child("expression"))...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(operations, "{jsonPatch}",
				"must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		return validateEnum(&m.PatchType, patchTypes, path.Child("patchType"))
	}
	return errs
}

func (r policyRules) validatePatch(c compiler, e plugincel.ExpressionAccessor, path *field.Path) field.ErrorList {
	if e.GetExpression() == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return c.check(e, check{environment: r.before.environment(e.GetExpression()), patches: true}, path)
}
