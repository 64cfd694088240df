package batch

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of Jobs and CronJobs.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: batchv1.SchemeGroupVersion, Kind: "CronJob", Plural: "cronjobs", Singular: "cronjob",
			ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
			Object: &batchv1.CronJob{}, List: &batchv1.CronJobList{},
			Strategy: cronStrategy, Default: defaultCronJob, Resets: []string{"status"},
			Subresources: []resource.Subresource{
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: cronStatus, Resets: []string{"spec"}},
			},
			Columns: cronColumns,
		},
		{
			GroupVersion: batchv1.SchemeGroupVersion, Kind: "Job", Plural: "jobs", Singular: "job",
			Categories: []string{"all"}, Namespaced: true, Object: &batchv1.Job{}, List: &batchv1.JobList{},
			Strategy: jobStrategy, Default: defaultJob, Resets: []string{"status"},
			Subresources: []resource.Subresource{
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: jobStatus, Resets: []string{"spec"}},
			},
			Columns: jobColumns, Fields: jobFields, OrphansDependents: true, DeleteWarnings: deleteWarnings,
		},
	}
}
