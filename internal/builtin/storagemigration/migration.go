package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

type migration = *storagemigrationv1.StorageVersionMigration

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &storagemigrationv1.StorageVersionMigration{}, Strategy: rules.Rules(),
		Subresources: []resource.Subresource{rules.Status()},
		Columns:      columns,
		Storage: resource.NewStorage(
			&storagemigrationv1.StorageVersionMigration{}, &storagemigrationv1beta1.StorageVersionMigration{}),
	}}
}

var rules = resource.Plain[migration]{Constant: []string{"spec"}, RequiresVersion: true}

var columns = resource.Columns[migration]{
	{Name: "Name", Field: "metadata.name"}, // without the format of other names, as in kube-apiserver
	{Name: "Resource", Field: "spec.resource", Doc: "GroupResource to migrate"},
	{Name: "Status", Doc: "Status of the migration", Cell: stateCell},
}

func stateCell(m migration) any {
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
	return state
}
