package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func driverDefinition() *resource.Definition {
	return &resource.Definition{
		Object:  &storagev1.CSIDriver{},
		Default: defaultDriver, Columns: driverColumns, ReturnsDeleted: true,
		Strategy: driverRules(),
	}
}

// driverRules returns the rules of CSIDrivers. A new one has no generation, but changes are counted.
func driverRules() resource.Strategy {
	rules := resource.Plain[*storagev1.CSIDriver]{
		Constant: []string{"spec.volumeLifecycleModes"}, RequiresVersion: true,
		CheckUpdate: func(obj, old *storagev1.CSIDriver) field.ErrorList {
			at := field.NewPath("spec", "attachedRequired") // the name in the errors of kube-apiserver
			return apivalidation.ValidateImmutableField(obj.Spec.AttachRequired, old.Spec.AttachRequired, at)
		},
	}.Rules()
	rules.PrepareUpdate = resource.Follow[*storagev1.CSIDriver]
	return rules
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

var driverColumns = resource.Columns[*storagev1.CSIDriver]{
	{Name: "AttachRequired", Type: "boolean", Field: "spec.attachRequired"},
	{Name: "PodInfoOnMount", Type: "boolean", Field: "spec.podInfoOnMount"},
	{Name: "StorageCapacity", Type: "boolean", Field: "spec.storageCapacity"},
	{Name: "TokenRequests", Field: "spec.tokenRequests[*].audience", Empty: unset},
	{Name: "RequiresRepublish", Type: "boolean", Field: "spec.requiresRepublish"},
	{Name: "Modes", Field: "spec.volumeLifecycleModes[*]", Empty: "<none>"},
	{Name: "Age"},
}
