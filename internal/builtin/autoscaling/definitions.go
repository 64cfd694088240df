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
		Object: &autoscalingv2.HorizontalPodAutoscaler{}, Strategy: strategy, Default: setDefaults,
		Subresources: []resource.Subresource{{Name: "status", Strategy: statusStrategy}},
		Upgrade: func(old, obj runtime.Object) error {
			// There is no other version than v1.
			*obj.(*autoscalingv2.HorizontalPodAutoscaler) = *fromV1(old)
			return nil
		},
	}
	v1 := &resource.Definition{
		Object: &autoscalingv1.HorizontalPodAutoscaler{}, Strategy: oldRules{strategy}, Default: setOldDefaults,
		Subresources: []resource.Subresource{{Name: "status", Strategy: oldRules{statusStrategy}}},
		Storage: &resource.Storage{
			Object: &autoscalingv2.HorizontalPodAutoscaler{},
			Encode: func(obj runtime.Object) (runtime.Object, error) { return fromV1(obj), nil },
			Decode: func(obj runtime.Object) (runtime.Object, error) {
				return toV1(obj.(*autoscalingv2.HorizontalPodAutoscaler))
			},
		},
	}
	for _, d := range []*resource.Definition{v2, v1} {
		d.ShortNames, d.Categories, d.Namespaced = []string{"hpa"}, []string{"all"}, true
		d.Columns = columns
	}
	return []*resource.Definition{v2, v1}
}
