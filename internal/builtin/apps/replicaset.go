package apps

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var replicaSetStrategy = resource.Typed[*appsv1.ReplicaSet]{
	Prepare: resource.Begin[*appsv1.ReplicaSet],
	Check: func(r *appsv1.ReplicaSet) field.ErrorList {
		return append(resource.CheckMetadata(&r.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkReplicaSet(&r.Spec)...)
	},
	Warn: func(r *appsv1.ReplicaSet) []string {
		return append(podspec.NameWarnings(r.Name), podspec.TemplateWarnings(&r.Spec.Template, templatePath)...)
	},
	PrepareUpdate: resource.Follow[*appsv1.ReplicaSet],
	CheckUpdate: func(r, old *appsv1.ReplicaSet) field.ErrorList {
		return slices.Concat(resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta), checkReplicaSet(&r.Spec),
			checkConstant(r.Spec.Selector, old.Spec.Selector, "selector"))
	},
	WarnUpdate: resource.WhenChanged(func(r *appsv1.ReplicaSet) []string {
		return podspec.TemplateWarnings(&r.Spec.Template, templatePath)
	}),
}

var replicaSetStatus = resource.Typed[*appsv1.ReplicaSet]{
	PrepareUpdate: resource.KeepSpec[*appsv1.ReplicaSet],
	CheckUpdate: func(r, old *appsv1.ReplicaSet) field.ErrorList {
		s := &r.Status
		return slices.Concat(resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta), checkCounts(s),
			checkReplicas(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas))
	},
}

// checkReplicas checks the numbers in the status of ReplicaSets and ReplicationControllers.
func checkReplicas(replicas, labeled, ready, available int32) field.ErrorList {
	return append(checkAtMost("status.replicas", replicas, count{"fullyLabeledReplicas", labeled},
		count{"readyReplicas", ready}, count{"availableReplicas", available}),
		checkAtMost("readyReplicas", ready, count{"availableReplicas", available})...)
}

func defaultReplicaSet(obj runtime.Object) {
	spec := &obj.(*appsv1.ReplicaSet).Spec
	resource.Default(&spec.Replicas, 1)
	podspec.DefaultTemplate(&spec.Template)
}

func checkReplicaSet(spec *appsv1.ReplicaSetSpec) field.ErrorList {
	s := selection{
		kind: "deployment", selector: spec.Selector, template: &spec.Template, invalid: "invalid label selector",
		check: checkReplicated("ReplicaSet"),
	}
	return slices.Concat(checkNumber(ptr.Deref(spec.Replicas, 0), "replicas"),
		checkNumber(spec.MinReadySeconds, "minReadySeconds"), s.errors())
}

var replicaSetScale = resource.NewScale(
	func(r *appsv1.ReplicaSet) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return scaleOf(r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector)
	},
	func(r *appsv1.ReplicaSet, replicas int32) { r.Spec.Replicas = &replicas },
)

var replicaSetColumns = resource.Columns[*appsv1.ReplicaSet]{
	{Name: "Desired", Type: "integer", Field: "spec.replicas"},
	{Name: "Current", Type: "integer", Field: "status.replicas"},
	{Name: "Ready", Type: "integer", Field: "status.readyReplicas"},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.selector"},
}
