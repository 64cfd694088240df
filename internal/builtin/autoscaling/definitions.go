package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of HorizontalPodAutoscalers.
func Definitions() []*resource.Definition {
	v2 := &resource.Definition{
		GroupVersion: autoscalingv2.SchemeGroupVersion, Object: &autoscalingv2.HorizontalPodAutoscaler{},
		List: &autoscalingv2.HorizontalPodAutoscalerList{}, Strategy: strategy, Default: setDefaults,
		Subresources: statusOf(statusStrategy),
		Upgrade: func(old, obj runtime.Object) error {
			// There is no other version than v1.
			*obj.(*autoscalingv2.HorizontalPodAutoscaler) = *fromV1(old)
			return nil
		},
	}
	v1 := &resource.Definition{
		GroupVersion: autoscalingv1.SchemeGroupVersion, Object: &autoscalingv1.HorizontalPodAutoscaler{},
		List: &autoscalingv1.HorizontalPodAutoscalerList{}, Strategy: oldRules{strategy}, Default: setOldDefaults,
		Subresources: statusOf(oldRules{statusStrategy}),
		Storage: &resource.Storage{
			GroupVersion: autoscalingv2.SchemeGroupVersion, Kind: kind, Object: &autoscalingv2.HorizontalPodAutoscaler{},
			Encode: func(obj runtime.Object) (runtime.Object, error) {
				return fromV1(obj), nil
			},
			Decode: func(obj runtime.Object) (runtime.Object, error) {
				return toV1(obj.(*autoscalingv2.HorizontalPodAutoscaler))
			},
		},
	}
	for _, d := range []*resource.Definition{v2, v1} {
		d.Kind, d.Plural, d.Singular = kind, "horizontalpodautoscalers", "horizontalpodautoscaler"
		d.ShortNames, d.Categories, d.Namespaced = []string{"hpa"}, []string{"all"}, true
		d.Columns, d.Resets = columns, []string{"status"}
	}
	return []*resource.Definition{v2, v1}
}

const kind = "HorizontalPodAutoscaler"

func statusOf(strategy resource.Strategy) []resource.Subresource {
	return []resource.Subresource{{
		Name: "status", Verbs: resource.SubresourceVerbs, Strategy: strategy, Resets: []string{"spec"},
	}}
}
