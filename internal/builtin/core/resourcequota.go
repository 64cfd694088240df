package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// ResourceQuotaRules are the rules of resource quotas.
var ResourceQuotaRules = resource.Typed[*corev1.ResourceQuota]{
	Name: apivalidation.NameIsDNSSubdomain, CheckBoth: checkQuota, Warn: warnAboutQuota,
	Prepare:       func(q *corev1.ResourceQuota) { q.Status = corev1.ResourceQuotaStatus{} },
	PrepareUpdate: func(q, old *corev1.ResourceQuota) { q.Status = old.Status },
	CheckUpdate: func(q, old *corev1.ResourceQuota) field.ErrorList {
		return rules.Invalid(!sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)), specPath.Child("scopes"),
			q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg)
	},
}

// ResourceQuotaStatusRules are the rules of the status of resource quotas.
var ResourceQuotaStatusRules = resource.StatusRules(func(q, _ *corev1.ResourceQuota) field.ErrorList {
	return slices.Concat(
		rules.Required(q.ResourceVersion, field.NewPath("resourceVersion")),
		checkQuantities(q.Status.Hard, field.NewPath("status", "hard")),
		checkQuantities(q.Status.Used, field.NewPath("status", "used")),
	)
})

// DefaultResourceQuota rounds quantities up to thousandths.
func DefaultResourceQuota(obj runtime.Object) {
	quota := obj.(*corev1.ResourceQuota)
	for _, list := range []corev1.ResourceList{quota.Spec.Hard, quota.Status.Hard, quota.Status.Used} {
		podspec.DefaultQuantities(list)
	}
}

// warnAboutQuota warns of requests that exceed their limits.
func warnAboutQuota(q *corev1.ResourceQuota) (warnings []string) {
	hard := q.Spec.Hard
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage,
	} {
		requestName, limitName := corev1.DefaultResourceRequestsPrefix+name, "limits."+name
		request, requested := hard[requestName]
		if !requested && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requestName = name
			request, requested = hard[requestName]
		}
		if limit, limited := hard[limitName]; requested && limited && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)",
				requestName, request.String(), limitName, limit.String()))
		}
	}
	return warnings
}

// podComputeResources are the resources that pods request.
var podComputeResources = sets.New(
	corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
	corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
)

// quotaResources are the names without a domain that a quota can limit.
var quotaResources = podspec.CountedResources.Union(podComputeResources).Insert(
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

var specPath = field.NewPath("spec")

func checkQuota(q *corev1.ResourceQuota) field.ErrorList {
	errs := append(checkQuantities(q.Spec.Hard, specPath.Child("hard")), checkScopes(&q.Spec, specPath.Child("scopes"))...)
	if q.Spec.ScopeSelector != nil {
		errs = append(errs, checkScopeSelector(&q.Spec, specPath.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

// checkQuantities checks the names and quantities of a list of resources.
func checkQuantities(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, slices.Concat(checkQuotaName(name, path.Key(string(name))),
			podspec.CheckQuantity(name, list[name], path.Key(string(name))))...)
	}
	return errs
}

func checkQuotaName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := rules.QualifiedName(name, path)
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

func checkScopes(spec *corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	for _, scope := range spec.Scopes {
		errs = append(errs, checkScope(scope, spec, field.Invalid(path, spec.Scopes, unsupportedScope),
			field.Invalid(path, spec.Scopes, misplacedScope))...)
	}
	return append(errs, checkScopePairs(spec.Scopes, spec.Scopes, path)...)
}

const (
	unsupportedScope = "unsupported scope"
	misplacedScope   = "unsupported scope applied to resource"
)

// checkScope returns an error if a scope is unknown, or one for each limited resource that it does not restrict.
func checkScope(
	scope corev1.ResourceQuotaScope, spec *corev1.ResourceQuotaSpec, unknown, misplaced *field.Error,
) (errs field.ErrorList) {
	restricted := scopeResources(scope)
	if restricted == nil {
		return field.ErrorList{unknown}
	}
	for name := range spec.Hard {
		errs = append(errs, rules.When(isQuotaResource(name) && !restricted.Has(name), misplaced)...)
	}
	return errs
}

// checkScopePairs checks that no two scopes exclude each other. shown is the value in errors, which is the list of
// scopes for those of a selector too.
func checkScopePairs(scopes, shown []corev1.ResourceQuotaScope, path *field.Path) field.ErrorList {
	set, conflict := sets.New(scopes...), field.Invalid(path, shown, "conflicting scopes")
	return append(
		rules.When(set.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort), conflict),
		rules.When(set.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating), conflict)...)
}

func checkScopeSelector(spec *corev1.ResourceQuotaSpec, path *field.Path) (errs field.ErrorList) {
	var scopes []corev1.ResourceQuotaScope
	misplaced := field.Invalid(path, untagged(spec.ScopeSelector), misplacedScope)
	for _, expression := range spec.ScopeSelector.MatchExpressions {
		scope := expression.ScopeName
		errs = append(errs, slices.Concat(
			checkScope(scope, spec, field.Invalid(path.Child("scopeName"), scope, unsupportedScope), misplaced),
			checkScopeExpression(expression, path),
		)...)
		scopes = append(scopes, scope)
	}
	return append(errs, checkScopePairs(scopes, spec.Scopes, path)...)
}

// operatorMessage is the error for an operator that a scope without values does not have.
const operatorMessage = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
	"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
	"ResourceQuotaScopeCrossNamespacePodAffinity"

func checkScopeExpression(
	expression corev1.ScopedResourceSelectorRequirement, path *field.Path,
) (errs field.ErrorList) {
	operator, values := path.Child("operator"), path.Child("values")
	hasValues := expression.ScopeName == corev1.ResourceQuotaScopePriorityClass ||
		expression.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass || scopeResources(expression.ScopeName) == nil
	errs = rules.Invalid(!hasValues && expression.Operator != corev1.ScopeSelectorOpExists, operator, expression.Operator,
		operatorMessage)
	switch expression.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		return append(errs, rules.Missing(len(expression.Values) == 0, values,
			"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")...)
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		return append(errs, rules.Invalid(len(expression.Values) > 0, values, expression.Values,
			"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")...)
	}
	return append(errs, field.Invalid(operator, expression.Operator, "not a valid selector operator"))
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

// ResourceQuotaColumns are the printed columns of resource quotas.
var ResourceQuotaColumns = resource.Columns[*corev1.ResourceQuota]{
	{Name: "Request", Cell: func(quota *corev1.ResourceQuota) any { return usedCell(&quota.Status, false) },
		Doc: "Request represents a minimum amount of cpu/memory that a container may consume."},
	{Name: "Limit", Cell: func(quota *corev1.ResourceQuota) any { return usedCell(&quota.Status, true) },
		Doc: "Limits control the maximum amount of cpu/memory that a container may use " +
			"independent of contention on the node."},
	{Name: "Age"},
}

// usedCell says how much of the limits or of the other quantities is used.
func usedCell(status *corev1.ResourceQuotaStatus, limits bool) string {
	var cells []string
	for _, name := range slices.Sorted(maps.Keys(status.Hard)) {
		if strings.HasPrefix(string(name), "limits.") == limits {
			used, hard := status.Used[name], status.Hard[name]
			cells = append(cells, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
		}
	}
	return strings.Join(cells, ", ")
}
