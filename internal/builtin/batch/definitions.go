package batch

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of Jobs and CronJobs.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &batchv1.CronJob{}, ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
			Strategy: cronStrategy, Default: defaultCronJob,
			Subresources: []resource.Subresource{{Name: "status", Strategy: cronStatus}},
			Columns:      cronColumns,
		},
		{
			Object: &batchv1.Job{}, Categories: []string{"all"}, Namespaced: true,
			Strategy: jobStrategy, Default: defaultJob,
			Subresources: []resource.Subresource{{Name: "status", Strategy: jobStatus}},
			Columns:      jobColumns, Fields: jobFields, OrphansDependents: true, DeleteWarnings: deleteWarnings,
		},
	}
}
