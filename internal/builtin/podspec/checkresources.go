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

// sortedNames returns the names of a list in order, so that errors have an order.
func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

// checkRequirements checks requests and limits. name checks the name of a resource.
func checkRequirements(
	r *corev1.ResourceRequirements, name func(corev1.ResourceName, *field.Path) field.ErrorList, path *field.Path,
) (errs field.ErrorList) {
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, resource := range sortedNames(r.Limits) {
		item := limits.Key(string(resource))
		errs = append(errs, slices.Concat(name(resource, item), CheckQuantity(resource, r.Limits[resource], item),
			checkHugePages(resource, r.Limits[resource], item))...)
	}
	for _, resource := range sortedNames(r.Requests) {
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
	names := append(sortedNames(r.Limits), sortedNames(r.Requests)...)
	hasCompute := slices.Contains(names, corev1.ResourceCPU) || slices.Contains(names, corev1.ResourceMemory)
	return append(errs, rules.When(slices.ContainsFunc(names, isHugePages) && !hasCompute,
		field.Forbidden(path, "HugePages require cpu or memory"))...)
}

// checkHugePages checks that a quantity of huge pages is a number of whole pages.
func checkHugePages(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	text, huge := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	size, err := apiresource.ParseQuantity(text)
	isSize := err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0
	return rules.When(huge && (!isSize || quantity.Value()%size.Value() != 0), field.Invalid(path, quantity.String(),
		fmt.Sprintf("%s is not positive integer multiple of %s", quantity.String(), name)))
}

// CheckQuantity checks that a quantity is not negative, and whole if the resource is counted.
func CheckQuantity(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.When(quantity.Sign() < 0, field.Invalid(path, quantity.String(), apivalidation.IsNegativeErrorMsg)),
		rules.When(isCounted(name) && quantity.MilliValue()%1000 != 0, field.Invalid(path, quantity, "must be an integer")),
	)
}

var countedResources = sets.New(
	corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
	corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
)

// isCounted reports whether a resource has no fractions. Those of devices are counted.
func isCounted(name corev1.ResourceName) bool { return countedResources.Has(name) || IsExtended(name) }

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
var standardResources = countedResources.Union(computeResources).Insert(
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
	corev1.ResourceStorage, corev1.ResourceRequestsStorage,
)

func checkContainerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs, hasDomain := rules.QualifiedName(name, path), strings.Contains(string(name), "/")
	return slices.Concat(errs,
		rules.When(len(errs) == 0 && !hasDomain && !standardResources.Has(name) && !isHugePages(name),
			field.Invalid(path, name, "must be a standard resource type or fully qualified")),
		rules.When(!hasDomain && !computeResources.Has(name) && !isHugePages(name),
			field.Invalid(path, name, "must be a standard resource for containers")),
		rules.When(hasDomain && !IsNative(name) && !IsExtended(name),
			field.Invalid(path, name, "doesn't follow extended resource name standard")),
	)
}

// checkPodResources checks the resources of the whole pod.
func (c *checker) checkPodResources(path *field.Path) field.ErrorList {
	r := c.spec.Resources
	if r == nil {
		return nil
	}
	errs := checkRequirements(r, checkPodResourceName, path)
	pod := &corev1.Pod{Spec: *c.spec}
	sums := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(r.Requests) {
		request, sum := r.Requests[name], sums[name]
		errs = append(errs, rules.When(resourcehelper.IsSupportedPodLevelResource(name) && sum.Cmp(request) > 0,
			field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String()))...)
	}
	for n := range c.spec.Containers {
		for _, name := range sortedNames(c.spec.Containers[n].Resources.Limits) {
			limit := c.spec.Containers[n].Resources.Limits[name]
			whole, limited := r.Limits[name]
			errs = append(errs, rules.When(limited && limit.Cmp(whole) > 0,
				field.Invalid(path.Child("containers").Index(n).Key(string(name)).Child("limits"), limit.String(),
					"must be less than or equal to pod limits of "+whole.String()))...)
		}
	}
	return errs
}

func checkPodResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	return rules.When(!resourcehelper.IsSupportedPodLevelResource(name),
		field.NotSupported(path, name, sets.List(resourcehelper.SupportedPodLevelResources())))
}
