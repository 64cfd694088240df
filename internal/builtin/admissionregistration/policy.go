package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
)

func validateMeta(meta metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(meta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
}

// policySpec has the fields that both kinds of policies have.
type policySpec struct {
	failurePolicy *admissionregistrationv1.FailurePolicyType
	paramKind     *admissionregistrationv1.ParamKind
	constraints   *admissionregistrationv1.MatchResources
	conditions    []admissionregistrationv1.MatchCondition
	variables     []admissionregistrationv1.Variable
	mutating      bool
	// expressions are those of the fields that a kind has besides.
	expressions []string
}

// validate checks the fields of a policy that was old before. It returns the compiler of the other expressions.
func (s *policySpec) validate(old *policySpec) (compiler, field.ErrorList) {
	errs := validateEnum(s.failurePolicy, failurePolicies, specPath.Child("failurePolicy"))
	errs = append(errs, validateParamKind(s.paramKind, specPath.Child("paramKind"))...)
	errs = append(errs, s.validateConstraints(specPath.Child("matchConstraints"))...)

	c := compiler{hasParams: s.paramKind != nil, stored: sets.New(old.expressions...)}
	for _, condition := range old.conditions {
		c.stored.Insert(condition.Expression)
	}
	same := equality.Semantic.DeepEqual(s.paramKind, old.paramKind) &&
		equality.Semantic.DeepEqual(s.conditions, old.conditions)
	if !same { // else nothing has changed that the conditions depend on
		errs = append(errs, c.checkConditions(s.conditions, specPath.Child("matchConditions"))...)
	}
	if c.Compiler = stateless(); !s.mutating && len(s.variables) == 0 {
		return c, errs
	}
	composed, err := plugincel.NewCompositedCompiler(
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return c, append(errs, field.InternalError(specPath, err))
	}
	c.Compiler, c.composed = composed, composed
	return c, append(errs, rules.Each(s.variables, specPath.Child("variables"), c.declare)...)
}

func (s *policySpec) validateConstraints(path *field.Path) field.ErrorList {
	if s.constraints == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	validate := validateMatchResources
	if s.mutating {
		validate = validateMutableResources
	}
	return append(validate(s.constraints, path), // without rules there are no types to check
		rules.When(len(s.constraints.ResourceRules) == 0, field.Required(path.Child("resourceRules"), ""))...)
}

func validateParamKind(kind *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	if kind == nil {
		return nil
	}
	errs := validateAPIVersion(kind.APIVersion, path.Child("apiVersion"))
	if path = path.Child("kind"); kind.Kind == "" {
		return append(errs, field.Required(path, ""))
	}
	messages := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind))
	return append(errs, rules.When(len(messages) > 0, field.Invalid(path, kind.Kind,
		"may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))...)
}

func validateAPIVersion(apiVersion string, path *field.Path) (errs field.ErrorList) {
	if apiVersion == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	parsed, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return field.ErrorList{field.Invalid(path, apiVersion, err.Error())}
	}
	joined := func(value string, messages []string) field.ErrorList {
		return rules.When(len(messages) > 0, field.Invalid(path, value, strings.Join(messages, ",")))
	}
	if parsed.Group != "" {
		errs = joined(parsed.Group, utilvalidation.IsDNS1123Subdomain(parsed.Group))
	}
	if parsed.Version == "" {
		return append(errs, field.Invalid(path, apiVersion, "version must be specified"))
	}
	return append(errs, joined(parsed.Version, utilvalidation.IsDNS1035Label(parsed.Version))...)
}
