package core

import (
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
			Prepare: func(obj *corev1.LimitRange) {
				if obj.Name == "" {
					obj.Name = string(uuid.NewUUID())
				}
			},
			Check:           checkLimitRange,
			CheckUpdate:     func(obj, _ *corev1.LimitRange) field.ErrorList { return checkLimitRange(obj) },
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
			limit.Default = withDefaults(limit.Default, limit.Max)
			limit.DefaultRequest = withDefaults(limit.DefaultRequest, limit.Default, limit.Min)
		}
		for _, list := range []corev1.ResourceList{
			limit.Max, limit.Min, limit.Default, limit.DefaultRequest, limit.MaxLimitRequestRatio,
		} {
			podspec.DefaultQuantities(list)
		}
	}
}

// withDefaults adds the quantities of others that a list does not have.
func withDefaults(list corev1.ResourceList, others ...corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	for _, other := range others {
		for name, quantity := range other {
			if _, found := list[name]; !found {
				list[name] = quantity.DeepCopy()
			}
		}
	}
	return list
}

func checkLimitRange(obj *corev1.LimitRange) field.ErrorList {
	return resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}
