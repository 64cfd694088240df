package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func nodeDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.CSINode{}, Columns: nodeColumns, Resets: status, ReturnsDeleted: true,
		Strategy: resource.Typed[*storagev1.CSINode]{
			Prepare:       func(obj *storagev1.CSINode) { obj.Status = storagev1.CSINodeStatus{} },
			Check:         checkNode,
			PrepareUpdate: func(obj, old *storagev1.CSINode) { obj.Status = old.Status },
			CheckUpdate:   checkNodeUpdate,

			RequiresVersion: true,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Resets: metadataAndSpec,
			Strategy: resource.Typed[*storagev1.CSINode]{
				PrepareUpdate: prepareNodeStatus,
				CheckUpdate: func(obj, old *storagev1.CSINode) field.ErrorList {
					return resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
				},
				RequiresVersion: true,
			},
		}},
	}
}

// prepareNodeStatus keeps everything but the status. It drops the health of storage, a feature that is off.
func prepareNodeStatus(obj, old *storagev1.CSINode) {
	obj.Spec = old.Spec
	metav1.ResetObjectMetaForStatus(&obj.ObjectMeta, &old.ObjectMeta)
	if len(old.Status.StorageHealth) == 0 {
		obj.Status.StorageHealth = nil
	}
}

func checkNode(obj *storagev1.CSINode) field.ErrorList {
	return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

// checkNodeUpdate lets drivers come and go, but not change, except for the number of volumes that they allow.
func checkNodeUpdate(obj, old *storagev1.CSINode) field.ErrorList {
	errs := checkNode(obj)
	drivers := map[string]storagev1.CSINodeDriver{}
	for _, driver := range obj.Spec.Drivers {
		drivers[driver.Name] = driver
	}
	for _, before := range old.Spec.Drivers {
		after, stays := drivers[before.Name]
		if !stays {
			continue
		}
		after.Allocatable, before.Allocatable = nil, nil
		errs = append(errs, apivalidation.ValidateImmutableField(&after, &before, field.NewPath("spec", "drivers"))...)
	}
	return errs
}

var nodeColumns = resource.Columns[*storagev1.CSINode]{
	{Name: "Drivers", Type: "integer", Field: "spec.drivers",
		Doc: "Drivers indicates the number of CSI drivers registered on the node"},
	{Name: "Age"},
}
