package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// The values of enumerations, sorted as errors list them.
var (
	failurePolicies = []admissionregistrationv1.FailurePolicyType{
		admissionregistrationv1.Fail, admissionregistrationv1.Ignore,
	}
	matchPolicies = []admissionregistrationv1.MatchPolicyType{
		admissionregistrationv1.Equivalent, admissionregistrationv1.Exact,
	}
	scopes = []admissionregistrationv1.ScopeType{
		admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope,
	}
	// mutableOperations are the operations of mutating policies. A deletion has no object that could change.
	mutableOperations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Update,
	}
	operations           = slices.Insert(slices.Clone(mutableOperations), 3, admissionregistrationv1.Delete)
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
)

// validateEnum checks the value of an enumeration, unless it is missing.
func validateEnum[T ~string](value *T, allowed []T, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return rules.Known(*value, path, allowed...)
}

func validateMatchResources(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	return slices.Concat(
		validateEnum(m.MatchPolicy, matchPolicies, path.Child("matchPolicy")),
		validateSelector(m.NamespaceSelector, path.Child("namespaceSelector")),
		validateSelector(m.ObjectSelector, path.Child("objectSelector")),
		rules.Each(m.ResourceRules, path.Child("resourceRules"), validateNamedRule),
		rules.Each(m.ExcludeResourceRules, path.Child("excludeResourceRules"), validateNamedRule),
	)
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateMutableResources is validateMatchResources for mutating policies and their bindings.
func validateMutableResources(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	errs := validateMatchResources(m, path)
	if m == nil {
		return errs
	}
	for n := range m.ResourceRules {
		for _, operation := range m.ResourceRules[n].Operations {
			errs = append(errs, rules.Known(operation, path.Child("resourceRules", "operations"), mutableOperations...)...)
		}
	}
	return errs
}

func validateNamedRule(r *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	unique := rules.Unique[string]()
	names := func(name *string, path *field.Path) field.ErrorList {
		return append(rules.Messages(path, *name, content.IsPathSegmentName(*name)), unique(*name, path)...)
	}
	return append(rules.Each(r.ResourceNames, path.Child("resourceNames"), names),
		validateRule(&r.RuleWithOperations, path)...)
}

const wildcard = "*"

func validateRule(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	return slices.Concat(
		validateList(r.Operations, path.Child("operations"), "operations"),
		rules.Each(r.Operations, path.Child("operations"),
			func(operation *admissionregistrationv1.OperationType, path *field.Path) field.ErrorList {
				return rules.Known(*operation, path, operations...)
			}),
		validateList(r.APIGroups, path.Child("apiGroups"), "API groups"),
		validateList(r.APIVersions, path.Child("apiVersions"), "API versions"),
		rules.Each(r.APIVersions, path.Child("apiVersions"), func(version *string, path *field.Path) field.ErrorList {
			return rules.Required(*version, path)
		}),
		validateResources(r.Resources, path.Child("resources")),
		validateEnum(r.Scope, scopes, path.Child("scope")),
	)
}

// validateList checks that a list has elements, and no others beside a wildcard.
func validateList[T ~string](list []T, path *field.Path, plural string) field.ErrorList {
	switch {
	case len(list) == 0:
		return field.ErrorList{field.Required(path, "")}
	case len(list) > 1 && slices.Contains(list, wildcard):
		return field.ErrorList{field.Invalid(path, list, "if '*' is present, must not specify other "+plural)}
	}
	return nil
}

// validateResources checks that no element of the list includes another one: "x/*" includes "x/y", "*/y" does too,
// "*/*" includes everything, and "*" every "x".
func validateResources(list []string, path *field.Path) (errs field.ErrorList) {
	if len(list) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	seen := sets.New[string]()
	lastIsPlain := false // as upstream, the last element without a subresource decides
	for n, element := range list {
		at := path.Index(n)
		if element == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		plural, subresource, hasSubresource := strings.Cut(element, "/")
		if !hasSubresource {
			lastIsPlain = element != wildcard
			continue
		}
		for _, wider := range []string{plural + "/*", "*/" + subresource} {
			if seen.Has(wider) {
				errs = append(errs, field.Invalid(at, element,
					fmt.Sprintf("if '%s' is present, must not specify %s", wider, element)))
			}
		}
		seen.Insert(element)
	}
	if len(list) > 1 && slices.Contains(list, "*/*") {
		errs = append(errs, field.Invalid(path, list, "if '*/*' is present, must not specify other resources"))
	}
	if slices.Contains(list, wildcard) && lastIsPlain {
		errs = append(errs, field.Invalid(path, list,
			"if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}
