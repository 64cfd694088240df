package limitranger

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
)

// demand is the part of an object that a limit is for. A claim has no limits.
type demand struct {
	of               corev1.LimitType
	requests, limits corev1.ResourceList
}

// checkPod checks the containers of a pod, and the pod as a whole.
func checkPod(limits *corev1.LimitRangeSpec, obj runtime.Object) (errs []error) {
	spec := &obj.(*corev1.Pod).Spec
	for n := range limits.Limits {
		item := &limits.Limits[n]
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, container := range slices.Concat(spec.Containers, spec.InitContainers) {
				r := &container.Resources
				errs = append(errs, check(item, demand{item.Type, r.Requests, r.Limits})...)
			}
		case corev1.LimitTypePod:
			requests, limits := total(spec)
			errs = append(errs, check(item, demand{item.Type, requests, limits})...)
		}
	}
	return errs
}

// checkClaim checks the size that a claim asks for.
func checkClaim(limits *corev1.LimitRangeSpec, obj runtime.Object) (errs []error) {
	requests := obj.(*corev1.PersistentVolumeClaim).Spec.Resources.Requests
	for n := range limits.Limits {
		if item := &limits.Limits[n]; item.Type == corev1.LimitTypePersistentVolumeClaim {
			sized := corev1.LimitRangeItem{Min: item.Min, Max: item.Max} // a claim has no ratio
			errs = append(errs, check(&sized, demand{of: item.Type, requests: requests})...)
		}
	}
	return errs
}

// total returns the requests and limits of a whole pod: those of its containers, or its own of CPU and memory. Its
// status does not count.
func total(spec *corev1.PodSpec) (requests, limits corev1.ResourceList) {
	pod, options := &corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
	if own := spec.Resources.DeepCopy(); own != nil {
		isOther := func(name corev1.ResourceName, _ apiresource.Quantity) bool {
			return name != corev1.ResourceCPU && name != corev1.ResourceMemory
		}
		maps.DeleteFunc(own.Requests, isOther)
		maps.DeleteFunc(own.Limits, isOther)
		pod.Spec.Resources = own
	}
	return resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options)
}

// check returns the errors of a demand: of its minima, its maxima and its ratios, each in the order of the resources.
func check(item *corev1.LimitRangeItem, d demand) (errs []error) {
	for _, rule := range []struct {
		bounds corev1.ResourceList
		check  func(name corev1.ResourceName, bound apiresource.Quantity) error
	}{{item.Min, d.checkMin}, {item.Max, d.checkMax}, {item.MaxLimitRequestRatio, d.checkRatio}} {
		for _, name := range slices.Sorted(maps.Keys(rule.bounds)) {
			if err := rule.check(name, rule.bounds[name]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// failure is how a bound is missed, and what the error says after the bound.
type failure struct {
	missed bool
	text   string
}

// firstOf returns the error of the first failure.
func firstOf(bound string, failures ...failure) error {
	for _, f := range failures {
		if f.missed {
			return errors.New(bound + f.text)
		}
	}
	return nil
}

func (d demand) checkMin(name corev1.ResourceName, least apiresource.Quantity) error {
	request, requested := d.requests[name]
	limit, limited := d.limits[name]
	asked, allowed, bound := values(request, limit, least)
	return firstOf(fmt.Sprintf("minimum %s usage per %s is %s", name, d.of, least.String()),
		failure{!requested, ".  No request is specified"},
		failure{asked < bound, ", but request is " + request.String()},
		failure{limited && allowed < bound, ", but limit is " + limit.String()})
}

func (d demand) checkMax(name corev1.ResourceName, most apiresource.Quantity) error {
	request, requested := d.requests[name]
	limit, limited := d.limits[name]
	asked, allowed, bound := values(request, limit, most)
	isClaim := d.of == corev1.LimitTypePersistentVolumeClaim // its maximum is for the request
	return firstOf(fmt.Sprintf("maximum %s usage per %s is %s", name, d.of, most.String()),
		failure{isClaim && !requested, ".  No request is specified"},
		failure{!isClaim && !limited, ".  No limit is specified"},
		failure{allowed > bound, ", but limit is " + limit.String()},
		failure{requested && asked > bound, ", but request is " + request.String()})
}

func (d demand) checkRatio(name corev1.ResourceName, most apiresource.Quantity) error {
	asked, allowed, _ := values(d.requests[name], d.limits[name], most)
	ratio := float64(allowed) / float64(asked)
	compared, bound := ratio, float64(most.Value())
	if most.Value() <= apiresource.MaxMilliValue {
		compared, bound = ratio*1000, float64(most.MilliValue())
	}
	return firstOf(fmt.Sprintf("%s max limit to request ratio per %s is %s", name, d.of, most.String()),
		failure{asked == 0, ", but no request is specified or request is 0"},
		failure{allowed == 0, ", but no limit is specified or limit is 0"},
		failure{compared > bound, fmt.Sprintf(", but provided ratio is %f", ratio)})
}

// values returns quantities in a unit in which they can be compared: thousandths, unless one of them is too large.
func values(request, limit, bound apiresource.Quantity) (asked, allowed, bounded int64) {
	if max(request.Value(), limit.Value(), bound.Value()) > apiresource.MaxMilliValue {
		return request.Value(), limit.Value(), bound.Value()
	}
	return request.MilliValue(), limit.MilliValue(), bound.MilliValue()
}
