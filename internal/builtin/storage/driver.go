package storage

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func driverDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSIDriver", Plural: "csidrivers", Singular: "csidriver",
		Object: &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
		Default: defaultDriver, Columns: driverColumns, ReturnsDeleted: true,
		Strategy: driverRules(),
	}
}

// driverRules returns the rules of CSIDrivers. A new one has no generation, but changes are counted.
func driverRules() resource.Strategy {
	rules := resource.Plain[*storagev1.CSIDriver]{
		Constant: []string{"spec.attachRequired", "spec.volumeLifecycleModes"}, RequiresVersion: true,
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
