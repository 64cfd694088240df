package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

type migration = *storagemigrationv1.StorageVersionMigration

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		GroupVersion: storagemigrationv1.SchemeGroupVersion, Kind: "StorageVersionMigration",
		Plural: "storageversionmigrations", Singular: "storageversionmigration",
		Object: &storagemigrationv1.StorageVersionMigration{}, List: &storagemigrationv1.StorageVersionMigrationList{},
		Strategy: rules.Rules(), Resets: []string{"status"},
		Subresources: []resource.Subresource{rules.Status()},
		Columns:      columns,
		Storage: resource.NewStorage(storagemigrationv1beta1.SchemeGroupVersion,
			&storagemigrationv1.StorageVersionMigration{}, &storagemigrationv1beta1.StorageVersionMigration{}),
	}}
}

var rules = resource.Plain[migration]{Constant: []string{"spec"}, RequiresVersion: true}

var columns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Description: resource.NameColumn.Description},
		{Name: "Resource", Type: "string", Description: "GroupResource to migrate"},
		{Name: "Status", Type: "string", Description: "Status of the migration"},
	},
	Cells: func(obj runtime.Object) []any {
		m := obj.(migration)
		state := "Unknown"
		for n := range m.Status.Conditions {
			c := &m.Status.Conditions[n]
			if c.Status != metav1.ConditionTrue {
				continue
			}
			switch kind := storagemigrationv1.MigrationConditionType(c.Type); kind {
			case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded:
				state = c.Type
			}
		}
		return []any{m.Name, m.Spec.Resource.String(), state}
	},
}
