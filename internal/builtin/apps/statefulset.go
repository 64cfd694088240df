package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var statefulStrategy = resource.Typed[*appsv1.StatefulSet]{
	Name: apivalidation.NameIsDNSLabel, Prepare: resource.Begin[*appsv1.StatefulSet],
	Check: func(s *appsv1.StatefulSet) field.ErrorList { return checkStatefulSet(&s.Spec, statefulCreation) },
	Warn: func(s *appsv1.StatefulSet) []string {
		return append(podspec.TemplateWarnings(&s.Spec.Template, templatePath), historyWarnings(&s.Spec)...)
	},
	PrepareUpdate: resource.Follow[*appsv1.StatefulSet], CheckUpdate: checkStatefulSetUpdate,
	WarnUpdate: func(s, old *appsv1.StatefulSet) (warnings []string) {
		if s.Generation != old.Generation {
			warnings = podspec.TemplateWarnings(&s.Spec.Template, templatePath)
		}
		return append(warnings, historyWarnings(&s.Spec)...)
	},
}

// statefulStatus checks the metadata between the numbers, as kube-apiserver does.
var statefulStatus = resource.Typed[*appsv1.StatefulSet]{
	PrepareUpdate: resource.KeepSpec[*appsv1.StatefulSet],
	CheckUpdate: func(s, old *appsv1.StatefulSet) field.ErrorList {
		now := &s.Status
		return slices.Concat(
			checkCounts(now),
			checkAtMost(now, "replicas", "status.replicas",
				"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
			checkAtMost(now, "readyReplicas", "status.readyReplicas", "availableReplicas"),
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
	resource.DefaultValue(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
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
	retention := spec.PersistentVolumeClaimRetentionPolicy
	resource.DefaultValue(&retention.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	resource.DefaultValue(&retention.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	resource.Default(&spec.Replicas, 1)
	resource.Default(&spec.RevisionHistoryLimit, 10)
	podspec.DefaultTemplate(&spec.Template)
	for n := range spec.VolumeClaimTemplates { // each is a whole object
		claim := &spec.VolumeClaimTemplates[n]
		claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
		podspec.DefaultClaimSpec(&claim.Spec)
		resource.DefaultValue(&claim.Status.Phase, corev1.ClaimPending)
	}
}

func checkStatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	part := statefulUpdate
	part.template = len(checkStatefulSet(&old.Spec, statefulUpdate)) == 0
	return append(checkStatefulSet(&s.Spec, part), rules.Constant(&s.Spec, &old.Spec, specPath,
		"serviceName", "podManagementPolicy", "selector", "volumeClaimTemplates")...)
}

// statefulPart says which parts of a StatefulSet are checked.
type statefulPart struct{ constant, template bool }

// A constant field of a stored object stays as it is, even if it has become invalid.
var (
	statefulCreation = statefulPart{constant: true, template: true}
	statefulUpdate   = statefulPart{template: true}
)

func checkStatefulSet(spec *appsv1.StatefulSetSpec, part statefulPart) field.ErrorList {
	selection := selection{kind: "statefulset", selector: spec.Selector, template: withClaims(spec)}
	selected, valid := selection.check()
	if valid && part.template {
		selected = append(selected, podspec.CheckTemplate(selection.template, templatePath)...)
	}
	var claims, service field.ErrorList
	if part.constant {
		claims = rules.Each(spec.VolumeClaimTemplates, specPath.Child("volumeClaimTemplates"),
			func(claim *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
				return podspec.CheckClaimSpec(&claim.Spec, path.Child("spec"))
			})
		service = rules.Name(spec.ServiceName, specPath.Child("serviceName"), apivalidation.NameIsDNSLabel)
	}
	return slices.Concat(
		checkManagementPolicy(spec.PodManagementPolicy, specPath.Child("podManagementPolicy")),
		checkStatefulStrategy(&spec.UpdateStrategy, specPath.Child("updateStrategy")),
		rules.Optional(spec.PersistentVolumeClaimRetentionPolicy, specPath.Child("persistentVolumeClaimRetentionPolicy"),
			checkRetention),
		claims,
		rules.NonNegatives(spec, specPath, "replicas", "minReadySeconds"),
		rules.NonNegative(ptr.Deref(spec.Ordinals, appsv1.StatefulSetOrdinals{}).Start, specPath.Child("ordinals.start")),
		service,
		selected,
		checkEndless(&spec.Template.Spec, "StatefulSet"),
	)
}

// withClaims returns the template with the volumes that the claims make, and without names that each pod gets.
func withClaims(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template.DeepCopy()
	template.Spec.Subdomain, template.Spec.Hostname = "", ""
	var volumes []corev1.Volume
	for n := range spec.VolumeClaimTemplates {
		name := spec.VolumeClaimTemplates[n].Name
		isClaim := func(volume corev1.Volume) bool { return volume.Name == name }
		template.Spec.Volumes = slices.DeleteFunc(template.Spec.Volumes, isClaim)
		if slices.ContainsFunc(volumes, isClaim) {
			continue
		}
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	template.Spec.Volumes = append(volumes, template.Spec.Volumes...)
	return template
}

func checkManagementPolicy(policy appsv1.PodManagementPolicyType, path *field.Path) field.ErrorList {
	return rules.Invalid(policy != appsv1.OrderedReadyPodManagement && policy != appsv1.ParallelPodManagement, path,
		policy, fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))
}

func checkStatefulStrategy(strategy *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		return rules.Invalid(strategy.RollingUpdate != nil, rolling, strategy.RollingUpdate,
			"only allowed for updateStrategy 'RollingUpdate'")
	case appsv1.RollingUpdateStatefulSetStrategyType:
		return rules.Optional(strategy.RollingUpdate, rolling, checkRollingStatefulSet)
	}
	return field.ErrorList{field.Invalid(path, strategyValue{string(strategy.Type), strategy.RollingUpdate},
		"must be 'RollingUpdate' or 'OnDelete'")}
}

func checkRollingStatefulSet(rolling appsv1.RollingUpdateStatefulSetStrategy, path *field.Path) field.ErrorList {
	unavailable, most := path.Child("maxUnavailable"), rolling.MaxUnavailable
	return slices.Concat(
		rules.NonNegative(ptr.Deref(rolling.Partition, 0), path.Child("partition")),
		rules.IntOrPercent(most, unavailable),
		rules.Invalid(most != nil && rules.NumberOf(most) == 0, unavailable, most, "cannot be 0"),
		rules.PercentLimit(most, unavailable),
	)
}

func checkRetention(
	policy appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path,
) field.ErrorList {
	keep := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	remove := appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	return append(rules.Known(policy.WhenDeleted, path.Child("whenDeleted"), keep, remove),
		rules.Known(policy.WhenScaled, path.Child("whenScaled"), keep, remove)...)
}

var statefulColumns = resource.Columns[*appsv1.StatefulSet]{
	{Name: "Ready", Doc: readyDoc, Cell: func(s *appsv1.StatefulSet) any {
		return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0))
	}},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
}
