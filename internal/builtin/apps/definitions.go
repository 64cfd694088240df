package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the rows of the workloads.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &corev1.ReplicationController{}, ShortNames: []string{"rc"}, Categories: all, Namespaced: true,
			Folder: "controllers", Strategy: controllerStrategy, Default: defaultController,
			Subresources: []resource.Subresource{
				{Name: "scale", Scale: scale},
				{Name: "status", Strategy: controllerStatus},
			},
			Columns: replicatedColumns[*corev1.ReplicationController](), OrphansDependents: true,
			Fields: &resource.Fields{Values: resource.Paths(&corev1.ReplicationController{}, "status.replicas")},
		},
		{
			Object: &appsv1.ControllerRevision{}, Namespaced: true,
			Strategy: revisionStrategy, Columns: revisionColumns,
		},
		{
			Object: &appsv1.DaemonSet{}, ShortNames: []string{"ds"}, Categories: all, Namespaced: true,
			Strategy: daemonStrategy, Default: defaultDaemonSet,
			Subresources: []resource.Subresource{{Name: "status", Strategy: daemonStatus}},
			Columns:      daemonColumns, Upgrade: upgradeDaemonSet,
		},
		{
			Object: &appsv1.Deployment{}, ShortNames: []string{"deploy"}, Categories: all, Namespaced: true,
			Strategy: deploymentStrategy, Default: defaultDeployment,
			Subresources: []resource.Subresource{
				{Name: "scale", Scale: scale},
				{
					Name: "status", Strategy: deploymentStatus,
					Resets: []string{"spec", "metadata.labels"},
				},
			},
			Columns: deploymentColumns, Upgrade: upgradeDeployment,
		},
		{
			Object: &appsv1.ReplicaSet{}, ShortNames: []string{"rs"}, Categories: all, Namespaced: true,
			Strategy: replicaSetStrategy, Default: defaultReplicaSet,
			Subresources: []resource.Subresource{
				{Name: "scale", Scale: scale},
				{Name: "status", Strategy: replicaSetStatus},
			},
			Columns: replicatedColumns[*appsv1.ReplicaSet](),
		},
		{
			Object: &appsv1.StatefulSet{}, ShortNames: []string{"sts"}, Categories: all, Namespaced: true,
			Strategy: statefulStrategy, Default: defaultStatefulSet,
			Subresources: []resource.Subresource{
				{Name: "scale", Scale: scale},
				{Name: "status", Strategy: statefulStatus},
			},
			Columns: statefulColumns,
		},
	}
}

var all = []string{"all"}
