package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgrade returns a RuntimeClass of an older version in v1. The fields were in a spec in v1alpha1.
func upgrade(obj runtime.Object) (runtime.Object, error) {
	class := &nodev1.RuntimeClass{}
	if err := resource.Transcode(obj, class); err != nil {
		return nil, err
	}
	if old, ok := obj.(*nodev1alpha1.RuntimeClass); ok {
		if err := resource.Transcode(old.Spec, class); err != nil {
			return nil, err
		}
		class.Handler = old.Spec.RuntimeHandler
	}
	return class, nil
}
