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
			GroupVersion: corev1.SchemeGroupVersion, Kind: "ReplicationController", Plural: "replicationcontrollers",
			Singular: "replicationcontroller", ShortNames: []string{"rc"}, Categories: all, Namespaced: true,
			Object: &corev1.ReplicationController{}, List: &corev1.ReplicationControllerList{},
			Folder: "controllers", Strategy: controllerStrategy, Default: defaultController, Resets: status,
			Subresources: []resource.Subresource{
				{Name: "scale", Verbs: resource.SubresourceVerbs, Scale: scale},
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: controllerStatus, Resets: spec},
			},
			Columns: controllerColumns, Fields: controllerFields, OrphansDependents: true,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Kind: "ControllerRevision", Plural: "controllerrevisions",
			Singular: "controllerrevision", Namespaced: true,
			Object: &appsv1.ControllerRevision{}, List: &appsv1.ControllerRevisionList{},
			Strategy: revisionStrategy, Columns: revisionColumns,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Kind: "DaemonSet", Plural: "daemonsets", Singular: "daemonset",
			ShortNames: []string{"ds"}, Categories: all, Namespaced: true,
			Object: &appsv1.DaemonSet{}, List: &appsv1.DaemonSetList{},
			Strategy: daemonStrategy, Default: defaultDaemonSet, Resets: status,
			Subresources: []resource.Subresource{
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: daemonStatus, Resets: spec},
			},
			Columns: daemonColumns, Upgrade: upgradeDaemonSet,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Kind: "Deployment", Plural: "deployments", Singular: "deployment",
			ShortNames: []string{"deploy"}, Categories: all, Namespaced: true,
			Object: &appsv1.Deployment{}, List: &appsv1.DeploymentList{},
			Strategy: deploymentStrategy, Default: defaultDeployment, Resets: status,
			Subresources: []resource.Subresource{
				{Name: "scale", Verbs: resource.SubresourceVerbs, Scale: scale},
				{
					Name: "status", Verbs: resource.SubresourceVerbs, Strategy: deploymentStatus,
					Resets: []string{"spec", "metadata.labels"},
				},
			},
			Columns: deploymentColumns, Upgrade: upgradeDeployment,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Kind: "ReplicaSet", Plural: "replicasets", Singular: "replicaset",
			ShortNames: []string{"rs"}, Categories: all, Namespaced: true,
			Object: &appsv1.ReplicaSet{}, List: &appsv1.ReplicaSetList{},
			Strategy: replicaSetStrategy, Default: defaultReplicaSet, Resets: status,
			Subresources: []resource.Subresource{
				{Name: "scale", Verbs: resource.SubresourceVerbs, Scale: scale},
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: replicaSetStatus, Resets: spec},
			},
			Columns: replicaSetColumns,
		},
		{
			GroupVersion: appsv1.SchemeGroupVersion, Kind: "StatefulSet", Plural: "statefulsets", Singular: "statefulset",
			ShortNames: []string{"sts"}, Categories: all, Namespaced: true,
			Object: &appsv1.StatefulSet{}, List: &appsv1.StatefulSetList{},
			Strategy: statefulStrategy, Default: defaultStatefulSet, Resets: status,
			Subresources: []resource.Subresource{
				{Name: "scale", Verbs: resource.SubresourceVerbs, Scale: scale},
				{Name: "status", Verbs: resource.SubresourceVerbs, Strategy: statefulStatus, Resets: spec},
			},
			Columns: statefulColumns,
		},
	}
}

var (
	all    = []string{"all"}
	spec   = []string{"spec"}
	status = []string{"status"}
)
