package storagemigration

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

type migration = *storagemigrationv1.StorageVersionMigration

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &storagemigrationv1.StorageVersionMigration{}, Strategy: rules, Resets: []string{"status"},
		Subresources: []resource.Subresource{{
			Name: "status", Strategy: statusRules,
			Resets: []string{"metadata", "spec"},
		}},
		Columns: columns,
		Storage: resource.NewStorage(
			&storagemigrationv1.StorageVersionMigration{}, &storagemigrationv1beta1.StorageVersionMigration{}),
	}}
}

var rules = resource.Typed[migration]{
	Prepare:       func(m migration) { m.Status = storagemigrationv1.StorageVersionMigrationStatus{} },
	Check:         check,
	PrepareUpdate: func(m, old migration) { m.Status = old.Status },
	CheckUpdate: func(m, old migration) field.ErrorList {
		errs := append(check(m), resource.CheckMetadataUpdate(&m.ObjectMeta, &old.ObjectMeta)...)
		return append(errs, apivalidation.ValidateImmutableField(m.Spec, old.Spec, field.NewPath("spec"))...)
	},
	RequiresVersion: true,
}

func check(m migration) field.ErrorList {
	return resource.CheckClusterMetadata(&m.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

var statusRules = resource.Typed[migration]{
	PrepareUpdate: func(m, old migration) {
		m.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&m.ObjectMeta, &old.ObjectMeta)
	},
	CheckUpdate:     checkStatus,
	RequiresVersion: true,
}

// checkStatus checks that the resourceVersion is set once, and that a migration that has ended does not go on.
func checkStatus(m, old migration) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&m.ObjectMeta, &old.ObjectMeta)
	status := field.NewPath("status")
	version, conditions := status.Child("resourceVersion"), status.Child("conditions")
	if v := m.Status.ResourceVersion; v != "" {
		if _, err := resourceversion.CompareResourceVersion(v, v); err != nil {
			errs = append(errs, field.Invalid(version, v, err.Error()))
		}
	}
	errs = append(errs, metav1validation.ValidateConditions(m.Status.Conditions, conditions)...)
	if before := old.Status.ResourceVersion; before != "" && before != m.Status.ResourceVersion {
		errs = append(errs, field.Invalid(version, m.Status.ResourceVersion, apivalidation.FieldImmutableErrorMsg))
	}
	if is(m, storagemigrationv1.MigrationSucceeded) && is(m, storagemigrationv1.MigrationFailed) {
		const text = "Both success and failed conditions cannot be true at the same time"
		errs = append(errs, field.Invalid(conditions, m.Status.Conditions, text))
	}
	for _, ended := range []struct {
		condition storagemigrationv1.MigrationConditionType
		name      string
	}{{storagemigrationv1.MigrationSucceeded, "Success"}, {storagemigrationv1.MigrationFailed, "Failed"}} {
		if is(old, ended.condition) && !is(m, ended.condition) {
			text := ended.name + " condition cannot be set to false once it is true"
			errs = append(errs, field.Invalid(conditions, m.Status.Conditions, text))
		}
	}
	return errs
}

func is(m migration, condition storagemigrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
}

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
