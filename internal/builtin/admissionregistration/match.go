package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
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
	operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Delete, admissionregistrationv1.Update,
	}
	// mutableOperations are the operations of mutating policies. A deletion has no object that could change.
	mutableOperations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Update,
	}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
)

// validateEnum checks the value of an enumeration, unless it is missing.
func validateEnum[T ~string](value *T, allowed []T, path *field.Path) field.ErrorList {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, allowed)}
}

// requireEnum is validateEnum for a field that must be set.
func requireEnum[T ~string](value *T, allowed []T, path *field.Path) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateEnum(value, allowed, path)
}

func validateMatchResources(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := requireEnum(m.MatchPolicy, matchPolicies, path.Child("matchPolicy"))
	strict := metav1validation.LabelSelectorValidationOptions{}
	if selector := path.Child("namespaceSelector"); m.NamespaceSelector == nil {
		errs = append(errs, field.Required(selector, ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelSelector(m.NamespaceSelector, strict, selector)...)
	}
	if selector := path.Child("objectSelector"); m.ObjectSelector == nil {
		errs = append(errs, field.Required(selector, ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelSelector(m.ObjectSelector, strict, selector)...)
	}
	for n := range m.ResourceRules {
		errs = append(errs, validateNamedRule(&m.ResourceRules[n], path.Child("resourceRules").Index(n))...)
	}
	for n := range m.ExcludeResourceRules {
		errs = append(errs, validateNamedRule(&m.ExcludeResourceRules[n], path.Child("excludeResourceRules").Index(n))...)
	}
	return errs
}

// validateMutableOperations checks that rules name no operations that a mutating policy cannot have.
func validateMutableOperations(m *admissionregistrationv1.MatchResources, path *field.Path) (errs field.ErrorList) {
	for n := range m.ResourceRules {
		for _, operation := range m.ResourceRules[n].Operations {
			errs = append(errs, validateEnum(&operation, mutableOperations, path.Child("resourceRules", "operations"))...)
		}
	}
	return errs
}

func validateNamedRule(r *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n, name := range r.ResourceNames {
		at := path.Child("resourceNames").Index(n)
		errs = append(errs, rules.Messages(at, name, content.IsPathSegmentName(name))...)
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		names.Insert(name)
	}
	return append(errs, validateRule(&r.RuleWithOperations, path)...)
}

const wildcard = "*"

func validateRule(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	errs := validateList(r.Operations, path.Child("operations"), "operations")
	for n, operation := range r.Operations {
		errs = append(errs, validateEnum(&operation, operations, path.Child("operations").Index(n))...)
	}
	errs = append(errs, validateList(r.APIGroups, path.Child("apiGroups"), "API groups")...)
	errs = append(errs, validateList(r.APIVersions, path.Child("apiVersions"), "API versions")...)
	for n, version := range r.APIVersions {
		if version == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(n), ""))
		}
	}
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	return append(errs, validateEnum(r.Scope, scopes, path.Child("scope"))...)
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
	allSubresources, ofAllResources := sets.New[string](), sets.New[string]()
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
		if allSubresources.Has(plural) {
			errs = append(errs, field.Invalid(at, element,
				fmt.Sprintf("if '%s/*' is present, must not specify %s", plural, element)))
		}
		if ofAllResources.Has(subresource) {
			errs = append(errs, field.Invalid(at, element,
				fmt.Sprintf("if '*/%s' is present, must not specify %s", subresource, element)))
		}
		if subresource == wildcard {
			allSubresources.Insert(plural)
		}
		if plural == wildcard {
			ofAllResources.Insert(subresource)
		}
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
