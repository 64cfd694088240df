package apps

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var replicaSetStrategy = podspec.WithWarnings(resource.Typed[*appsv1.ReplicaSet]{
	Name: apivalidation.NameIsDNSSubdomain,
	CheckBoth: func(r *appsv1.ReplicaSet) field.ErrorList {
		return append(rules.NonNegatives(&r.Spec, specPath, "replicas", "minReadySeconds"),
			checkReplicated(r.Spec.Selector, &r.Spec.Template)...)
	},
	Prepare: resource.Begin[*appsv1.ReplicaSet], PrepareUpdate: resource.Follow[*appsv1.ReplicaSet],
	CheckUpdate: func(r, old *appsv1.ReplicaSet) field.ErrorList {
		return rules.Constant(&r.Spec, &old.Spec, specPath, "selector")
	},
}, templatePath, func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template })

var replicaSetStatus = resource.StatusRules(func(r, _ *appsv1.ReplicaSet) field.ErrorList {
	return checkReplicas(&r.Status)
})

// checkReplicas checks the status of a ReplicaSet or ReplicationController.
func checkReplicas(status any) field.ErrorList {
	return slices.Concat(
		checkCounts(status),
		checkAtMost(status, "replicas", "status.replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
		checkAtMost(status, "readyReplicas", "readyReplicas", "availableReplicas"),
	)
}

func defaultReplicaSet(obj runtime.Object) {
	spec := &obj.(*appsv1.ReplicaSet).Spec
	resource.Default(&spec.Replicas, 1)
	podspec.DefaultTemplate(&spec.Template)
}

// replicatedColumns returns the columns of ReplicaSets and ReplicationControllers.
func replicatedColumns[T runtime.Object]() resource.Columns[T] {
	return resource.Columns[T]{
		{Name: "Desired", Type: "integer", Field: "spec.replicas"},
		{Name: "Current", Type: "integer", Field: "status.replicas"},
		{Name: "Ready", Type: "integer", Field: "status.readyReplicas"},
		{Name: "Age"},
		{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
		{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
		{Name: "Selector", Wide: true, Field: "spec.selector"},
	}
}
