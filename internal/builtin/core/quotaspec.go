package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// countedResources are the resources whose quantities are numbers of objects.
var countedResources = sets.New(
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
)

// podComputeResources are the resources that pods request.
var podComputeResources = sets.New(
	corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
	corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
)

// quotaResources are the names without a domain that a quota can limit.
var quotaResources = countedResources.Union(podComputeResources).Insert(
	corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage, corev1.ResourceLimitsEphemeralStorage,
	corev1.ResourceRequestsStorage,
)

// scopeResources returns the resources that a scope can restrict, or nil for an unknown scope.
func scopeResources(scope corev1.ResourceQuotaScope) sets.Set[corev1.ResourceName] {
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return sets.New(corev1.ResourcePods)
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return podComputeResources.Clone().Insert(corev1.ResourcePods)
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage)
	}
	return nil
}

func validateQuotaSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateQuotaList(spec.Hard, path.Child("hard"))
	errs = append(errs, validateScopes(spec, path.Child("scopes"))...)
	if spec.ScopeSelector != nil {
		errs = append(errs, validateScopeSelector(spec, path.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

// validateQuotaList checks the names and quantities of a list of resources.
func validateQuotaList(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	for _, name := range sorted(list) {
		errs = append(errs, validateQuotaName(name, path.Key(string(name)))...)
		errs = append(errs, podspec.CheckQuantity(name, list[name], path.Key(string(name)))...)
	}
	return errs
}

func validateQuotaName(name corev1.ResourceName, path *field.Path) (errs field.ErrorList) {
	errs = append(errs, rules.Messages(path, string(name), validation.IsQualifiedName(string(name)))...)
	if strings.Contains(string(name), "/") || isQuotaResource(name) {
		return errs
	}
	if errs == nil && name != corev1.ResourceStorage {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	return append(errs, field.Invalid(path, name, "must be a standard resource for quota"))
}

func isQuotaResource(name corev1.ResourceName) bool {
	return quotaResources.Has(name) || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

func validateScopes(spec *corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	for _, scope := range spec.Scopes {
		if scopeResources(scope) == nil {
			errs = append(errs, field.Invalid(path, spec.Scopes, "unsupported scope"))
		}
		for range outsideScope(scope, spec.Hard) {
			errs = append(errs, field.Invalid(path, spec.Scopes, misplacedMessage))
		}
	}
	return append(errs, validateScopePairs(spec.Scopes, spec.Scopes, path)...)
}

const misplacedMessage = "unsupported scope applied to resource"

// outsideScope returns the resources of a list that a scope does not restrict. An unknown scope has none.
func outsideScope(scope corev1.ResourceQuotaScope, list corev1.ResourceList) (outside []corev1.ResourceName) {
	restricted := scopeResources(scope)
	for name := range list {
		if restricted != nil && isQuotaResource(name) && !restricted.Has(name) {
			outside = append(outside, name)
		}
	}
	return outside
}

// validateScopePairs checks that no two scopes exclude each other. shown is the value in errors, which is the list of
// scopes for those of a selector too.
func validateScopePairs(scopes, shown []corev1.ResourceQuotaScope, path *field.Path) (errs field.ErrorList) {
	set := sets.New(scopes...)
	for _, pair := range [][]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if set.HasAll(pair...) {
			errs = append(errs, field.Invalid(path, shown, "conflicting scopes"))
		}
	}
	return errs
}

func validateScopeSelector(spec *corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	var scopes []corev1.ResourceQuotaScope
	for _, expression := range spec.ScopeSelector.MatchExpressions {
		scope := expression.ScopeName
		if scopeResources(scope) == nil {
			errs = append(errs, field.Invalid(path.Child("scopeName"), scope, "unsupported scope"))
		}
		for range outsideScope(scope, spec.Hard) {
			errs = append(errs, field.Invalid(path, untagged(spec.ScopeSelector), misplacedMessage))
		}
		errs = append(errs, validateScopeExpression(expression, path)...)
		scopes = append(scopes, scope)
	}
	return append(errs, validateScopePairs(scopes, spec.Scopes, path)...)
}

// operatorMessage is the error for an operator that a scope without values does not have.
const operatorMessage = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
	"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
	"ResourceQuotaScopeCrossNamespacePodAffinity"

func validateScopeExpression(
	expression corev1.ScopedResourceSelectorRequirement, path *field.Path,
) (errs field.ErrorList) {
	operator, values := path.Child("operator"), path.Child("values")
	switch expression.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		if expression.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs, field.Invalid(operator, expression.Operator, operatorMessage))
		}
	}
	switch expression.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(expression.Values) == 0 {
			errs = append(errs, field.Required(values,
				"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(expression.Values) != 0 {
			errs = append(errs, field.Invalid(values, expression.Values,
				"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
		}
	default:
		errs = append(errs, field.Invalid(operator, expression.Operator, "not a valid selector operator"))
	}
	return errs
}

// untagged returns a selector whose JSON has the names of Go fields, which kube-apiserver shows in an error.
func untagged(selector *corev1.ScopeSelector) any {
	type requirement struct {
		ScopeName corev1.ResourceQuotaScope
		Operator  corev1.ScopeSelectorOperator
		Values    []string
	}
	var shown struct{ MatchExpressions []requirement }
	for _, expression := range selector.MatchExpressions {
		shown.MatchExpressions = append(shown.MatchExpressions, requirement(expression))
	}
	return shown
}
