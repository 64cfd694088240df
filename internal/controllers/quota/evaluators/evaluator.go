package evaluators

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// aliases are resources of the core group that quotas also count by their plurals alone.
var aliases = []corev1.ResourceName{
	corev1.ResourceConfigMaps, corev1.ResourceQuotas, corev1.ResourceReplicationControllers, corev1.ResourceSecrets,
}

// Named are the evaluators of all resources that quotas have other names for than "count/<resource>.<group>".
var Named = func() []quotav1.Evaluator {
	found := []quotav1.Evaluator{pods, services, volumeClaims}
	for _, alias := range aliases {
		found = append(found, generic.NewObjectCountEvaluator(corev1.Resource(string(alias)), nil, alias))
	}
	return found
}()

// For returns the evaluator of a resource; nil if quotas do not count its objects.
func For(gr schema.GroupResource) quotav1.Evaluator {
	if gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io") {
		return nil
	}
	for _, e := range Named {
		if e.GroupResource() == gr {
			return e
		}
	}
	return generic.NewObjectCountEvaluator(gr, nil, "")
}

// OnlyCounts reports whether each object of an evaluator uses one of each of its names.
func OnlyCounts(e quotav1.Evaluator) bool {
	_, measures := e.(*measure)
	return !measures
}

// UpdatesCount reports whether updates at an endpoint may change what an object uses. Those of the status of a Pod may
// too, but kube-apiserver leaves them to the controller.
func UpdatesCount(gr schema.GroupResource, subresource string) bool {
	switch gr {
	case podResource:
		return subresource == "" || subresource == "resize"
	case volumeClaimResource:
		return subresource == "" || subresource == "status"
	case serviceResource:
		return subresource == ""
	}
	return false
}

// measure is an evaluator of objects that do not all use the same. It counts objects as well. Lists of objects are not
// its concern, so UsageStats must not be called.
type measure struct {
	quotav1.Evaluator
	// handles reports whether a request for the resource may change usage.
	handles func(a admission.Attributes) bool
	// has reports whether objects may use what a name in a quota limits.
	has func(name corev1.ResourceName) bool
	// scope reports whether an object is in a scope.
	scope generic.MatchesScopeFunc
	// usage returns what an object uses.
	usage func(obj runtime.Object) corev1.ResourceList
	// constraints, if set, returns an error if an object lacks what a quota that matches it requires.
	constraints func(required []corev1.ResourceName, obj runtime.Object) error
}

var _ quotav1.Evaluator = &measure{}

func newMeasure(gr schema.GroupResource, m measure) *measure {
	m.Evaluator = generic.NewObjectCountEvaluator(gr, nil, "")
	if m.scope == nil {
		m.scope = generic.MatchesNoScopeFunc
	}
	return &m
}

// Handles implements Evaluator.
func (m *measure) Handles(a admission.Attributes) bool { return m.handles(a) }

// Constraints implements Evaluator.
func (m *measure) Constraints(required []corev1.ResourceName, obj runtime.Object) error {
	if m.constraints == nil {
		return nil
	}
	return m.constraints(required, obj)
}

// Matches implements Evaluator.
func (m *measure) Matches(quota *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(quota, obj, m.MatchingResources, m.scope)
}

// MatchingResources implements Evaluator.
func (m *measure) MatchingResources(names []corev1.ResourceName) (found []corev1.ResourceName) {
	for _, name := range names {
		if m.has(name) || len(m.Evaluator.MatchingResources([]corev1.ResourceName{name})) > 0 {
			found = append(found, name)
		}
	}
	return found
}

// MatchingScopes implements Evaluator.
func (m *measure) MatchingScopes(
	obj runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement,
) (found []corev1.ScopedResourceSelectorRequirement, err error) {
	for _, scope := range scopes {
		matches, err := m.scope(scope, obj)
		if err != nil {
			return nil, fmt.Errorf("error on matching scope %v: %w", scope, err)
		}
		if matches {
			found = append(found, scope)
		}
	}
	return found, nil
}

// UncoveredQuotaScopes implements Evaluator.
func (m *measure) UncoveredQuotaScopes(
	limited, covered []corev1.ScopedResourceSelectorRequirement,
) (uncovered []corev1.ScopedResourceSelectorRequirement, err error) {
	for _, scope := range limited {
		same := func(c corev1.ScopedResourceSelectorRequirement) bool { return c.ScopeName == scope.ScopeName }
		if !slices.ContainsFunc(covered, same) {
			uncovered = append(uncovered, scope)
		}
	}
	return uncovered, nil
}

// Usage implements Evaluator.
func (m *measure) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	counted, err := m.Evaluator.Usage(obj)
	return quotav1.Add(counted, m.usage(obj)), err
}

// writes reports whether a request creates or updates an object itself, not a subresource.
func writes(a admission.Attributes) bool {
	return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
}
