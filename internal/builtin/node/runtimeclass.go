// Package node has RuntimeClasses, the ways in which the containers of a Pod are run.
package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the package.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &nodev1.RuntimeClass{}, Columns: columns, Upgrade: upgrade,
		Strategy: resource.Typed[*nodev1.RuntimeClass]{
			CheckBoth: func(obj *nodev1.RuntimeClass) field.ErrorList {
				return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
			},
			CheckUpdate: func(obj, old *nodev1.RuntimeClass) field.ErrorList {
				return append(resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta),
					resource.CheckConstant(field.NewPath("handler"), obj.Handler, old.Handler)...)
			},
			CreatesOnUpdate: true, RequiresVersion: true,
		},
	}}
}

var columns = resource.Columns[*nodev1.RuntimeClass]{
	{Name: "Handler", Cell: func(class *nodev1.RuntimeClass) any { return class.Handler }}, // described by nothing
	{Name: "Age"},
}

// upgrade completes a RuntimeClass of an older version. The fields were in a spec in v1alpha1.
func upgrade(old, obj runtime.Object) error {
	if old, ok := old.(*nodev1alpha1.RuntimeClass); ok {
		obj.(*nodev1.RuntimeClass).Handler = old.Spec.RuntimeHandler
		return resource.Transcode(old.Spec, obj)
	}
	return nil
}
