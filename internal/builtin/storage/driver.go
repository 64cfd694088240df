package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func driverDefinition() *resource.Definition {
	return &resource.Definition{
		Object:  &storagev1.CSIDriver{},
		Default: defaultDriver, Columns: driverColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*storagev1.CSIDriver]{
			Check: func(obj *storagev1.CSIDriver) field.ErrorList {
				return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
			},
			PrepareUpdate: func(obj, old *storagev1.CSIDriver) {
				if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
					obj.Generation = old.Generation + 1
				}
			},
			CheckUpdate:     checkDriverUpdate,
			RequiresVersion: true,
		},
	}
}

func defaultDriver(obj runtime.Object) {
	spec := &obj.(*storagev1.CSIDriver).Spec
	resource.Default(&spec.AttachRequired, true)
	for _, flag := range []**bool{
		&spec.PodInfoOnMount, &spec.StorageCapacity, &spec.RequiresRepublish, &spec.SELinuxMount,
		&spec.PreventPodSchedulingIfMissing,
	} {
		resource.Default(flag, false)
	}
	resource.Default(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

func checkDriverUpdate(obj, old *storagev1.CSIDriver) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec")
	errs = append(errs, apivalidation.ValidateImmutableField(
		obj.Spec.AttachRequired, old.Spec.AttachRequired, path.Child("attachedRequired"))...)
	return append(errs, apivalidation.ValidateImmutableField(
		obj.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, path.Child("volumeLifecycleModes"))...)
}

var driverColumns = resource.Columns[*storagev1.CSIDriver]{
	{Name: "AttachRequired", Type: "boolean", Field: "spec.attachRequired"},
	{Name: "PodInfoOnMount", Type: "boolean", Field: "spec.podInfoOnMount"},
	{Name: "StorageCapacity", Type: "boolean", Field: "spec.storageCapacity"},
	{Name: "TokenRequests", Field: "spec.tokenRequests[*].audience", Empty: unset},
	{Name: "RequiresRepublish", Type: "boolean", Field: "spec.requiresRepublish"},
	{Name: "Modes", Field: "spec.volumeLifecycleModes[*]", Empty: "<none>"},
	{Name: "Age"},
}
