package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func nodeDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.CSINode{}, Columns: nodeColumns, ReturnsDeleted: true,
		Strategy: nodeRules.Rules(), Subresources: []resource.Subresource{nodeRules.Status()},
	}
}

var nodeRules = resource.Plain[*storagev1.CSINode]{CheckUpdate: checkNodeUpdate, RequiresVersion: true}

// checkNodeUpdate lets drivers come and go, but not change, except for the number of volumes that they allow.
func checkNodeUpdate(obj, old *storagev1.CSINode) (errs field.ErrorList) {
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
