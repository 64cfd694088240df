package core

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// LimitRange returns the resource of the limits that the objects of a namespace have by default, which package
// limitranger applies.
func LimitRange() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.LimitRange{}, ShortNames: []string{"limits"}, Namespaced: true, Default: defaultLimitRange,
		Strategy: resource.Typed[*corev1.LimitRange]{
			Prepare: func(obj *corev1.LimitRange) { resource.DefaultValue(&obj.Name, string(uuid.NewUUID())) },
			CheckBoth: func(obj *corev1.LimitRange) field.ErrorList {
				return resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
			},
			CreatesOnUpdate: true,
		},
	}
}

// defaultLimitRange makes the maxima of containers their limits, the limits their requests, and then the minima their
// requests.
func defaultLimitRange(obj runtime.Object) {
	limits := obj.(*corev1.LimitRange).Spec.Limits
	for n := range limits {
		limit := &limits[n]
		if limit.Type == corev1.LimitTypeContainer {
			limit.Default = merged(limit.Max, limit.Default)
			limit.DefaultRequest = merged(limit.Min, limit.Default, limit.DefaultRequest)
		}
		for _, list := range []corev1.ResourceList{
			limit.Max, limit.Min, limit.Default, limit.DefaultRequest, limit.MaxLimitRequestRatio,
		} {
			podspec.DefaultQuantities(list)
		}
	}
}

// merged returns the quantities of lists. Those of later lists win.
func merged(lists ...corev1.ResourceList) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, list := range lists {
		maps.Copy(all, list)
	}
	return all
}
