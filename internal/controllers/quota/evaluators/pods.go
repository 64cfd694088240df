package evaluators

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
)

var podResource = corev1.Resource("pods")

const (
	requests = corev1.DefaultResourceRequestsPrefix
	limits   = "limits."
)

// compute are the resources of which quotas limit requests and limits.
var compute = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

var pods = newMeasure(podResource, measure{
	handles: podRequestCounts, has: podsUse, scope: podInScope, constraints: podConstraints, usage: podUsage,
})

// podRequestCounts reports whether a request may change what a Pod uses. Of updates these are resizes, and those after
// which the Pod has other scopes.
func podRequestCounts(a admission.Attributes) bool {
	switch a.GetSubresource() {
	case "":
	case "resize":
		return a.GetOperation() == admission.Update
	default:
		return false
	}
	if a.GetOperation() != admission.Update {
		return a.GetOperation() == admission.Create
	}
	return hasDeadline(a.GetObject().(*corev1.Pod)) != hasDeadline(a.GetOldObject().(*corev1.Pod))
}

func podsUse(name corev1.ResourceName) bool {
	if name == corev1.ResourcePods || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix) {
		return true
	}
	for _, resource := range compute {
		if name == resource || name == requests+resource || name == limits+resource {
			return true
		}
	}
	return strings.HasPrefix(string(name), requests) &&
		(!podspec.IsNative(name) || strings.HasPrefix(string(name), requests+resourcev1.ResourceDeviceClassPrefix))
}

// podUsage returns what a Pod uses. One that has ended only uses its place among the objects.
func podUsage(obj runtime.Object) corev1.ResourceList {
	pod := obj.(*corev1.Pod)
	if !isCharged(pod) {
		return corev1.ResourceList{}
	}
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	return computeUsage(resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options))
}

// isCharged reports whether a Pod has not ended. One whose node does not report that it was stopped has ended when its
// grace period is over twice: the deletion timestamp is the end of the first.
func isCharged(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !time.Now().After(pod.DeletionTimestamp.Add(grace))
}

// computeUsage returns the names in quotas of a Pod's or container's requests and limits.
func computeUsage(requested, limited corev1.ResourceList) corev1.ResourceList {
	used := corev1.ResourceList{corev1.ResourcePods: number(1)}
	for _, resource := range compute {
		if quantity, ok := requested[resource]; ok {
			used[resource], used[requests+resource] = quantity, quantity
		}
		if quantity, ok := limited[resource]; ok {
			used[limits+resource] = quantity
		}
	}
	for resource, quantity := range requested {
		switch {
		case strings.HasPrefix(string(resource), corev1.ResourceHugePagesPrefix):
			used[resource], used[requests+resource] = quantity, quantity
		case podspec.IsExtended(resource), strings.HasPrefix(string(resource), resourcev1.ResourceDeviceClassPrefix):
			used[requests+resource] = quantity
		}
	}
	return used
}

// required are the names that each container must specify if a quota has them, unless the Pod does as a whole.
var required = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceMemory,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
}

// podConstraints returns an error that names the containers without requests or limits that a quota requires.
func podConstraints(names []corev1.ResourceName, obj runtime.Object) error {
	pod := obj.(*corev1.Pod)
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return nil
	}
	var missing []string
	for _, name := range quotav1.Intersection(required, names) {
		var lacking []string
		for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if _, ok := computeUsage(container.Resources.Requests, container.Resources.Limits)[name]; !ok {
				lacking = append(lacking, container.Name)
			}
		}
		if len(lacking) > 0 {
			slices.Sort(lacking)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(lacking, ",")))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("must specify %s", strings.Join(missing, "; "))
}

func podInScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	pod := obj.(*corev1.Pod)
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline(pod), nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline(pod), nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod), nil
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesClass(scope, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return slices.ContainsFunc(affinityTerms(pod.Spec.Affinity), func(term corev1.PodAffinityTerm) bool {
			return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
		}), nil
	}
	return false, nil
}

func hasDeadline(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

func isBestEffort(pod *corev1.Pod) bool {
	class := pod.Status.QOSClass
	if class == "" {
		class = podspec.QualityOfService(pod)
	}
	return class == corev1.PodQOSBestEffort
}

// affinityTerms returns the terms about other Pods, required and preferred.
func affinityTerms(affinity *corev1.Affinity) (terms []corev1.PodAffinityTerm) {
	if affinity == nil {
		return nil
	}
	to := ptr.Deref(affinity.PodAffinity, corev1.PodAffinity{})
	from := ptr.Deref(affinity.PodAntiAffinity, corev1.PodAntiAffinity{})
	terms = slices.Concat(to.RequiredDuringSchedulingIgnoredDuringExecution,
		from.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, weighted := range slices.Concat(to.PreferredDuringSchedulingIgnoredDuringExecution,
		from.PreferredDuringSchedulingIgnoredDuringExecution) {
		terms = append(terms, weighted.PodAffinityTerm)
	}
	return terms
}

func number(n int) apiresource.Quantity {
	return *apiresource.NewQuantity(int64(n), apiresource.DecimalSI)
}
