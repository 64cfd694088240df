package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var replicaSetStrategy = resource.Typed[*appsv1.ReplicaSet]{
	Prepare: func(r *appsv1.ReplicaSet) { r.Status, r.Generation = appsv1.ReplicaSetStatus{}, 1 },
	Check: func(r *appsv1.ReplicaSet) field.ErrorList {
		return append(resource.CheckMetadata(&r.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkReplicaSet(&r.Spec)...)
	},
	Warn: func(r *appsv1.ReplicaSet) []string {
		return append(podspec.NameWarnings(r.Name), podspec.TemplateWarnings(&r.Spec.Template, templatePath)...)
	},
	PrepareUpdate: func(r, old *appsv1.ReplicaSet) {
		r.Status = old.Status
		if changed(r.Spec, old.Spec) {
			r.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(r, old *appsv1.ReplicaSet) field.ErrorList {
		errs := append(resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta), checkReplicaSet(&r.Spec)...)
		return append(errs,
			apivalidation.ValidateImmutableField(r.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))...)
	},
	WarnUpdate: func(r, old *appsv1.ReplicaSet) []string {
		if r.Generation == old.Generation {
			return nil
		}
		return podspec.TemplateWarnings(&r.Spec.Template, templatePath)
	},
}

var replicaSetStatus = resource.Typed[*appsv1.ReplicaSet]{
	PrepareUpdate: func(r, old *appsv1.ReplicaSet) { r.Spec = old.Spec },
	CheckUpdate: func(r, old *appsv1.ReplicaSet) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta)
		s := &r.Status
		return append(errs, checkReplicas(&replicaCounts{
			replicas: s.Replicas, labeled: s.FullyLabeledReplicas, ready: s.ReadyReplicas, available: s.AvailableReplicas,
			generation: s.ObservedGeneration, terminating: ptr.Deref(s.TerminatingReplicas, 0),
		})...)
	},
}

// replicaCounts are the numbers in the status of ReplicaSets and ReplicationControllers.
type replicaCounts struct {
	replicas, labeled, ready, available, terminating int32
	generation                                       int64
}

func checkReplicas(s *replicaCounts) field.ErrorList {
	labeled := count{"fullyLabeledReplicas", int64(s.labeled)}
	ready, available := count{"readyReplicas", int64(s.ready)}, count{"availableReplicas", int64(s.available)}
	errs := checkCounts(count{"replicas", int64(s.replicas)}, labeled, ready, available,
		count{"observedGeneration", s.generation}, count{"terminatingReplicas", int64(s.terminating)})
	errs = append(errs, checkAtMost(count{"status.replicas", int64(s.replicas)}, labeled, ready, available)...)
	return append(errs, checkAtMost(ready, available)...)
}

func defaultReplicaSet(obj runtime.Object) {
	spec := &obj.(*appsv1.ReplicaSet).Spec
	resource.Default(&spec.Replicas, 1)
	podspec.DefaultTemplate(&spec.Template)
}

func checkReplicaSet(spec *appsv1.ReplicaSetSpec) field.ErrorList {
	errs := apivalidation.ValidateNonnegativeField(int64(ptr.Deref(spec.Replicas, 0)), specPath.Child("replicas"))
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), specPath.Child("minReadySeconds"))...)
	s := selection{
		kind: "deployment", selector: spec.Selector, template: &spec.Template, invalid: "invalid label selector",
		check: checkReplicated("ReplicaSet"),
	}
	return append(errs, s.errors()...)
}

var replicaSetScale = resource.NewScale(
	func(r *appsv1.ReplicaSet) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return scaleOf(r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector)
	},
	func(r *appsv1.ReplicaSet, replicas int32) { r.Spec.Replicas = &replicas },
)

var replicaSetColumns = &resource.Columns{
	Definitions: columnsWith([]metav1.TableColumnDefinition{
		{Name: "Desired", Type: "integer", Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Current", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["replicas"]},
		{Name: "Ready", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["readyReplicas"]},
	}, selectorColumn(appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"])),
	Cells: func(obj runtime.Object) []any {
		r := obj.(*appsv1.ReplicaSet)
		cells := append([]any{
			r.Name, int64(ptr.Deref(r.Spec.Replicas, 0)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
			resource.Age(r),
		}, podspec.ContainerCells(&r.Spec.Template.Spec)...)
		return append(cells, metav1.FormatLabelSelector(r.Spec.Selector))
	},
}
