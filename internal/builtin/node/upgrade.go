package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgrade completes a RuntimeClass of an older version. The fields were in a spec in v1alpha1.
func upgrade(old, obj runtime.Object) error {
	if old, ok := old.(*nodev1alpha1.RuntimeClass); ok {
		obj.(*nodev1.RuntimeClass).Handler = old.Spec.RuntimeHandler
		return resource.Transcode(old.Spec, obj)
	}
	return nil
}
