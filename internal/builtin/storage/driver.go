package storage

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func driverDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSIDriver", Plural: "csidrivers", Singular: "csidriver",
		Object: &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
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

var driverColumns = &resource.Columns{
	Definitions: driverColumnDefinitions(),
	Cells: func(obj runtime.Object) []any {
		driver := obj.(*storagev1.CSIDriver)
		spec := &driver.Spec
		var modes, audiences []string
		for _, mode := range spec.VolumeLifecycleModes {
			modes = append(modes, string(mode))
		}
		for _, request := range spec.TokenRequests {
			audiences = append(audiences, request.Audience)
		}
		modeCell, audienceCell := strings.Join(modes, ","), strings.Join(audiences, ",")
		if modeCell == "" {
			modeCell = "<none>"
		}
		if spec.TokenRequests == nil {
			audienceCell = unset
		}
		return []any{
			driver.Name, ptr.Deref(spec.AttachRequired, true), ptr.Deref(spec.PodInfoOnMount, false),
			ptr.Deref(spec.StorageCapacity, false), audienceCell, ptr.Deref(spec.RequiresRepublish, false), modeCell,
			resource.Age(driver),
		}
	},
}

func driverColumnDefinitions() []metav1.TableColumnDefinition {
	fields := storagev1.CSIDriverSpec{}.SwaggerDoc()
	boolean := func(name, description string) metav1.TableColumnDefinition {
		return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
	}
	return []metav1.TableColumnDefinition{
		resource.NameColumn,
		boolean("AttachRequired", fields["attachRequired"]),
		boolean("PodInfoOnMount", fields["podInfoOnMount"]),
		boolean("StorageCapacity", fields["storageCapacity"]),
		resource.TextColumn("TokenRequests", fields["tokenRequests"]),
		boolean("RequiresRepublish", fields["requiresRepublish"]),
		resource.TextColumn("Modes", fields["volumeLifecycleModes"]),
		resource.AgeColumn,
	}
}
