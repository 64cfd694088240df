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
		errs = append(errs, name(resource, item)...)
		errs = append(errs, CheckQuantity(resource, r.Limits[resource], item)...)
		errs = append(errs, checkHugePages(resource, r.Limits[resource], item)...)
	}
	for _, resource := range sortedNames(r.Requests) {
		item, request := requests.Key(string(resource)), r.Requests[resource]
		errs = append(errs, name(resource, item)...)
		errs = append(errs, CheckQuantity(resource, request, item)...)
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
	if hasHugePages(r.Limits, r.Requests) && !hasCompute(r.Limits, r.Requests) {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

func hasHugePages(lists ...corev1.ResourceList) bool {
	for _, list := range lists {
		for name := range list {
			if isHugePages(name) {
				return true
			}
		}
	}
	return false
}

func hasCompute(lists ...corev1.ResourceList) bool {
	for _, list := range lists {
		for name := range list {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
				return true
			}
		}
	}
	return false
}

// checkHugePages checks that a quantity of huge pages is a number of whole pages.
func checkHugePages(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	text, huge := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !huge {
		return nil
	}
	size, err := apiresource.ParseQuantity(text)
	if err != nil {
		return field.ErrorList{field.Invalid(path, quantity.String(), err.Error())}
	}
	if size.Sign() <= 0 || quantity.Value()%size.Value() != 0 {
		return field.ErrorList{field.Invalid(path, quantity.String(),
			fmt.Sprintf("%s is not positive integer multiple of %s", quantity.String(), name))}
	}
	return nil
}

// CheckQuantity checks that a quantity is not negative, and whole if the resource is counted.
func CheckQuantity(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) (errs field.ErrorList) {
	if quantity.Sign() < 0 {
		errs = append(errs, field.Invalid(path, quantity.String(), apivalidation.IsNegativeErrorMsg))
	}
	if isCounted(name) && quantity.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, quantity, "must be an integer"))
	}
	return errs
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

func checkResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := invalid(path, name, validation.IsQualifiedName(string(name))); len(errs) > 0 {
		return errs
	}
	if !strings.Contains(string(name), "/") && !standardResources.Has(name) && !isHugePages(name) {
		return field.ErrorList{field.Invalid(path, name, "must be a standard resource type or fully qualified")}
	}
	return nil
}

func checkContainerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := checkResourceName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if !computeResources.Has(name) && !isHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !IsNative(name) && !IsExtended(name):
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
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
		if resourcehelper.IsSupportedPodLevelResource(name) && sum.Cmp(request) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String()))
		}
	}
	for n := range c.spec.Containers {
		for _, name := range sortedNames(c.spec.Containers[n].Resources.Limits) {
			limit := c.spec.Containers[n].Resources.Limits[name]
			if whole, limited := r.Limits[name]; limited && limit.Cmp(whole) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(n).Key(string(name)).Child("limits"),
					limit.String(), "must be less than or equal to pod limits of "+whole.String()))
			}
		}
	}
	return errs
}

func checkPodResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if resourcehelper.IsSupportedPodLevelResource(name) {
		return nil
	}
	supported := sets.List(resourcehelper.SupportedPodLevelResources())
	return field.ErrorList{field.NotSupported(path, name, supported)}
}

// checkClaims checks the claims of devices that containers may name.
func (c *checker) checkClaims(path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n, claim := range c.spec.ResourceClaims {
		item := path.Index(n)
		if claim.Name == "" {
			errs = append(errs, field.Required(item.Child("name"), ""))
		} else {
			errs = append(errs, checkLabel(claim.Name, item.Child("name"))...)
		}
		if names.Has(claim.Name) {
			errs = append(errs, field.Duplicate(item.Child("name"), claim.Name))
		}
		names.Insert(claim.Name)
		switch byName, byTemplate := claim.ResourceClaimName != nil, claim.ResourceClaimTemplateName != nil; {
		case byName && byTemplate:
			errs = append(errs, field.Invalid(item, claim,
				"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		case !byName && !byTemplate:
			errs = append(errs, field.Invalid(item, claim,
				"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
	}
	return errs
}

// checkClaimNames checks that a container names claims of the pod.
func (c *checker) checkClaimNames(claims []corev1.ResourceClaim, path *field.Path) (errs field.ErrorList) {
	for n, claim := range claims {
		isNamed := func(of corev1.PodResourceClaim) bool { return of.Name == claim.Name }
		switch item := path.Index(n); {
		case claim.Name == "":
			errs = append(errs, field.Required(item, ""))
		case slices.Contains(claims[:n], claim):
			errs = append(errs, field.Duplicate(item, claim.Name))
		case !slices.ContainsFunc(c.spec.ResourceClaims, isNamed):
			errs = append(errs, field.NotFound(item, claim.Name))
		}
	}
	return errs
}
