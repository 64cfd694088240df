package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func nodeDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSINode", Plural: "csinodes", Singular: "csinode",
		Object: &storagev1.CSINode{}, List: &storagev1.CSINodeList{},
		Columns: nodeColumns, Resets: status, ReturnsDeleted: true,
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

var nodeColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "Drivers", Type: "integer",
			Description: "Drivers indicates the number of CSI drivers registered on the node",
		},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		node := obj.(*storagev1.CSINode)
		return []any{node.Name, int64(len(node.Spec.Drivers)), resource.Age(node)}
	},
}
