package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// QualityOfService returns the class of a pod: guaranteed if everything has requests that equal its limits, best effort
// if nothing has any.
func QualityOfService(pod *corev1.Pod) corev1.PodQOSClass {
	var all []*corev1.ResourceRequirements
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		all = append(all, pod.Spec.Resources)
	} else {
		for c := range containersOf(&pod.Spec) {
			all = append(all, &c.Resources)
		}
	}
	guaranteed, bestEffort := true, true
	for _, r := range all {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := r.Requests[name], r.Limits[name]
			bestEffort = bestEffort && request.IsZero() && limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && request.Equal(limit)
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// CompleteResources fills the resources of a whole pod, if it names some: from those of its containers, and requests
// from limits.
func CompleteResources(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Requests) == 0 && len(r.Limits) == 0 {
		return
	}
	containers := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: pod.Spec.Containers, InitContainers: pod.Spec.InitContainers,
	}}
	limits := resourcehelper.AggregateContainerLimits(containers, resourcehelper.PodResourcesOptions{})
	requests := resourcehelper.AggregateContainerRequests(containers, resourcehelper.PodResourcesOptions{})
	for name, quantity := range limits {
		if _, requested := r.Requests[name]; !requested && isHugePages(name) {
			fill(&r.Limits, name, quantity)
		}
	}
	for name, quantity := range requests {
		if resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name) {
			fill(&r.Requests, name, quantity)
		}
	}
	for name, quantity := range r.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			fill(&r.Requests, name, quantity)
		}
	}
	for name, request := range r.Requests {
		limit, limited := limits[name]
		if !limited || !resourcehelper.IsSupportedPodLevelResource(name) || !allLimit(&pod.Spec, name) {
			continue
		}
		if request.Cmp(limit) > 0 {
			limit = request
		}
		fill(&r.Limits, name, limit)
	}
}

// fill sets a quantity that a list does not have.
func fill(list *corev1.ResourceList, name corev1.ResourceName, quantity apiresource.Quantity) {
	if _, found := (*list)[name]; found {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity.DeepCopy()
}

// allLimit reports whether every container limits a resource.
func allLimit(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for c := range containersOf(spec) {
		if _, limited := c.Resources.Limits[name]; !limited {
			return false
		}
	}
	return true
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// checkRequirements checks requests and limits. name checks the name of a resource.
func checkRequirements(
	r *corev1.ResourceRequirements, name func(corev1.ResourceName, *field.Path) field.ErrorList, path *field.Path,
) (errs field.ErrorList) {
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, resource := range slices.Sorted(maps.Keys(r.Limits)) {
		item := limits.Key(string(resource))
		errs = append(errs, slices.Concat(name(resource, item), CheckQuantity(resource, r.Limits[resource], item),
			checkHugePages(resource, r.Limits[resource], item))...)
	}
	for _, resource := range slices.Sorted(maps.Keys(r.Requests)) {
		item, request := requests.Key(string(resource)), r.Requests[resource]
		errs = append(errs, slices.Concat(name(resource, item), CheckQuantity(resource, request, item))...)
		limit, limited := r.Limits[resource]
		switch overcommits := IsNative(resource) && !isHugePages(resource); {
		case !limited && !overcommits:
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case !limited:
		case !overcommits && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be equal to %s limit of %s", resource, limit.String())))
		case request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", resource, limit.String())))
		}
		errs = append(errs, checkHugePages(resource, request, item)...)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.Limits)), maps.Keys(r.Requests))
	hasCompute := slices.Contains(names, corev1.ResourceCPU) || slices.Contains(names, corev1.ResourceMemory)
	return append(errs, rules.Forbidden(slices.ContainsFunc(names, isHugePages) && !hasCompute, path,
		"HugePages require cpu or memory")...)
}

// checkHugePages checks that a quantity of huge pages is a number of whole pages.
func checkHugePages(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	text, huge := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	size, err := apiresource.ParseQuantity(text)
	isSize := err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0
	return rules.Invalid(huge && (!isSize || quantity.Value()%size.Value() != 0), path, quantity.String(),
		fmt.Sprintf("%s is not positive integer multiple of %s", quantity.String(), name))
}

// CheckQuantity checks that a quantity is not negative, and whole if the resource is counted.
func CheckQuantity(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.Invalid(quantity.Sign() < 0, path, quantity.String(), apivalidation.IsNegativeErrorMsg),
		rules.Invalid(isCounted(name) && quantity.MilliValue()%1000 != 0, path, quantity, "must be an integer"),
	)
}

// CountedResources are the resources of which there is a number of objects.
var CountedResources = sets.New(
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
)

// isCounted reports whether a resource has no fractions. Those of devices are counted.
func isCounted(name corev1.ResourceName) bool { return CountedResources.Has(name) || IsExtended(name) }

// IsNative reports whether a resource is one of Kubernetes.
func IsNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// IsExtended reports whether a resource has a domain that is not Kubernetes', and is requested by that name.
func IsExtended(name corev1.ResourceName) bool {
	if IsNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

var computeResources = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)

// standardResources are the other names without a domain.
var standardResources = CountedResources.Union(computeResources).Insert(
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
	corev1.ResourceStorage, corev1.ResourceRequestsStorage,
)

func checkContainerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs, hasDomain := rules.QualifiedName(name, path), strings.Contains(string(name), "/")
	return slices.Concat(errs,
		rules.Invalid(len(errs) == 0 && !hasDomain && !standardResources.Has(name) && !isHugePages(name), path, name,
			"must be a standard resource type or fully qualified"),
		rules.Invalid(!hasDomain && !computeResources.Has(name) && !isHugePages(name), path, name,
			"must be a standard resource for containers"),
		rules.Invalid(hasDomain && !IsNative(name) && !IsExtended(name), path, name,
			"doesn't follow extended resource name standard"),
	)
}

// checkPodResources checks the resources of the whole pod.
func (c *checker) checkPodResources(r corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	errs := checkRequirements(&r, checkPodResourceName, path)
	pod := &corev1.Pod{Spec: *c.spec}
	sums := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, sum := r.Requests[name], sums[name]
		errs = append(errs, rules.Invalid(resourcehelper.IsSupportedPodLevelResource(name) && sum.Cmp(request) > 0,
			path.Child("requests").Key(string(name)), request.String(),
			"must be greater than or equal to aggregate container requests of "+sum.String())...)
	}
	for n := range c.spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(c.spec.Containers[n].Resources.Limits)) {
			limit := c.spec.Containers[n].Resources.Limits[name]
			whole, limited := r.Limits[name]
			errs = append(errs, rules.Invalid(limited && limit.Cmp(whole) > 0,
				path.Child("containers").Index(n).Key(string(name)).Child("limits"), limit.String(),
				"must be less than or equal to pod limits of "+whole.String())...)
		}
	}
	return errs
}

func checkPodResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	return rules.When(!resourcehelper.IsSupportedPodLevelResource(name),
		field.NotSupported(path, name, sets.List(resourcehelper.SupportedPodLevelResources())))
}
