package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var statefulStrategy = resource.Typed[*appsv1.StatefulSet]{
	Prepare: resource.Begin[*appsv1.StatefulSet],
	Check: func(s *appsv1.StatefulSet) field.ErrorList {
		return append(resource.CheckMetadata(&s.ObjectMeta, apivalidation.NameIsDNSLabel),
			checkStatefulSet(&s.Spec, statefulCreation)...)
	},
	Warn: func(s *appsv1.StatefulSet) []string {
		return append(podspec.TemplateWarnings(&s.Spec.Template, templatePath), historyWarnings(&s.Spec)...)
	},
	PrepareUpdate: resource.Follow[*appsv1.StatefulSet],
	CheckUpdate:   checkStatefulSetUpdate,
	WarnUpdate: func(s, old *appsv1.StatefulSet) (warnings []string) {
		if s.Generation != old.Generation {
			warnings = podspec.TemplateWarnings(&s.Spec.Template, templatePath)
		}
		return append(warnings, historyWarnings(&s.Spec)...)
	},
}

var statefulStatus = resource.Typed[*appsv1.StatefulSet]{
	PrepareUpdate: resource.KeepSpec[*appsv1.StatefulSet],
	CheckUpdate: func(s, old *appsv1.StatefulSet) field.ErrorList {
		now := &s.Status
		available := count{"availableReplicas", now.AvailableReplicas}
		return slices.Concat(
			checkCounts(now),
			checkAtMost("status.replicas", now.Replicas, count{"readyReplicas", now.ReadyReplicas},
				count{"currentReplicas", now.CurrentReplicas}, count{"updatedReplicas", now.UpdatedReplicas}, available),
			checkAtMost("status.readyReplicas", now.ReadyReplicas, available),
			resource.CheckMetadataUpdate(&s.ObjectMeta, &old.ObjectMeta),
			checkCollisions(now.CollisionCount, old.Status.CollisionCount),
		)
	},
}

func historyWarnings(spec *appsv1.StatefulSetSpec) []string {
	if ptr.Deref(spec.RevisionHistoryLimit, 0) >= 0 {
		return nil
	}
	return []string{
		"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
	}
}

func defaultStatefulSet(obj runtime.Object) {
	spec := &obj.(*appsv1.StatefulSet).Spec
	if spec.PodManagementPolicy == "" {
		spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	strategy := &spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		resource.Default(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if rolling := strategy.RollingUpdate; rolling != nil && strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		resource.Default(&rolling.Partition, 0)
		resource.Default(&rolling.MaxUnavailable, intstr.FromInt32(1))
	}
	resource.Default(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	for _, policy := range []*appsv1.PersistentVolumeClaimRetentionPolicyType{
		&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, &spec.PersistentVolumeClaimRetentionPolicy.WhenScaled,
	} {
		if *policy == "" {
			*policy = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		}
	}
	resource.Default(&spec.Replicas, 1)
	resource.Default(&spec.RevisionHistoryLimit, 10)
	podspec.DefaultTemplate(&spec.Template)
	for n := range spec.VolumeClaimTemplates {
		defaultClaim(&spec.VolumeClaimTemplates[n])
	}
}

// defaultClaim sets the defaults of a claim in a template, which is a whole object.
func defaultClaim(claim *corev1.PersistentVolumeClaim) {
	claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
	podspec.DefaultClaimSpec(&claim.Spec)
	if claim.Status.Phase == "" {
		claim.Status.Phase = corev1.ClaimPending
	}
}

var statefulScale = resource.NewScale(
	func(s *appsv1.StatefulSet) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return scaleOf(s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector)
	},
	func(s *appsv1.StatefulSet, replicas int32) { s.Spec.Replicas = &replicas },
)

var statefulColumns = resource.Columns[*appsv1.StatefulSet]{
	{Name: "Ready", Doc: readyDoc, Cell: func(s *appsv1.StatefulSet) any {
		return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0))
	}},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
}
