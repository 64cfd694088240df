package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// statefulRules say which parts of a StatefulSet are checked.
type statefulRules struct{ claims, service, template bool }

// A constant field of a stored object stays as it is, even if it has become invalid.
var (
	statefulCreation = statefulRules{claims: true, service: true, template: true}
	statefulUpdate   = statefulRules{template: true}
)

func checkStatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&s.ObjectMeta, &old.ObjectMeta)
	rules := statefulUpdate
	rules.template = len(checkStatefulSet(&old.Spec, statefulUpdate)) == 0
	errs = append(errs, checkStatefulSet(&s.Spec, rules)...)
	errs = append(errs,
		apivalidation.ValidateImmutableField(s.Spec.ServiceName, old.Spec.ServiceName, specPath.Child("serviceName"))...)
	errs = append(errs, apivalidation.ValidateImmutableField(
		s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, specPath.Child("podManagementPolicy"))...)
	errs = append(errs,
		apivalidation.ValidateImmutableField(s.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))...)
	return append(errs, apivalidation.ValidateImmutableField(
		s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, specPath.Child("volumeClaimTemplates"))...)
}

func checkStatefulSet(spec *appsv1.StatefulSetSpec, rules statefulRules) field.ErrorList {
	errs := checkManagementPolicy(spec.PodManagementPolicy, specPath.Child("podManagementPolicy"))
	errs = append(errs, checkStatefulStrategy(&spec.UpdateStrategy, specPath.Child("updateStrategy"))...)
	errs = append(errs, checkRetention(
		spec.PersistentVolumeClaimRetentionPolicy, specPath.Child("persistentVolumeClaimRetentionPolicy"))...)
	if rules.claims {
		for n := range spec.VolumeClaimTemplates {
			path := specPath.Child("volumeClaimTemplates").Index(n).Child("spec")
			errs = append(errs, podspec.CheckClaimSpec(&spec.VolumeClaimTemplates[n].Spec, path)...)
		}
	}
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(ptr.Deref(spec.Replicas, 0)), specPath.Child("replicas"))...)
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), specPath.Child("minReadySeconds"))...)
	if spec.Ordinals != nil {
		errs = append(errs,
			apivalidation.ValidateNonnegativeField(int64(spec.Ordinals.Start), specPath.Child("ordinals.start"))...)
	}
	if rules.service && spec.ServiceName != "" {
		for _, message := range validation.IsDNS1123Label(spec.ServiceName) {
			errs = append(errs, field.Invalid(specPath.Child("serviceName"), spec.ServiceName, message))
		}
	}
	s := selection{kind: "statefulset", selector: spec.Selector, template: withClaims(spec)}
	if rules.template {
		s.check = podspec.CheckTemplate
	}
	errs = append(errs, s.errors()...)
	return append(errs, checkStatefulEndless(&spec.Template.Spec)...)
}

// checkStatefulEndless is checkEndless with the name that a StatefulSet has.
func checkStatefulEndless(spec *corev1.PodSpec) field.ErrorList {
	return checkEndless(spec, templatePath, "StatefulSet")
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
	if policy == appsv1.OrderedReadyPodManagement || policy == appsv1.ParallelPodManagement {
		return nil
	}
	return field.ErrorList{field.Invalid(path, policy, fmt.Sprintf("must be '%s' or '%s'",
		appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))}
}

func checkStatefulStrategy(strategy *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if strategy.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(rolling, strategy.RollingUpdate,
				"only allowed for updateStrategy 'RollingUpdate'")}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		return checkRollingStatefulSet(strategy.RollingUpdate, rolling)
	}
	return field.ErrorList{field.Invalid(path, strategyValue{string(strategy.Type), strategy.RollingUpdate},
		"must be 'RollingUpdate' or 'OnDelete'")}
}

func checkRollingStatefulSet(rolling *appsv1.RollingUpdateStatefulSetStrategy, path *field.Path) field.ErrorList {
	if rolling == nil {
		return nil
	}
	errs := apivalidation.ValidateNonnegativeField(int64(ptr.Deref(rolling.Partition, 0)), path.Child("partition"))
	unavailable := path.Child("maxUnavailable")
	if rolling.MaxUnavailable == nil {
		return errs
	}
	errs = append(errs, rules.IntOrPercent(rolling.MaxUnavailable, unavailable)...)
	if rules.NumberOf(rolling.MaxUnavailable) == 0 {
		errs = append(errs, field.Invalid(unavailable, *rolling.MaxUnavailable, "cannot be 0"))
	}
	return append(errs, rules.PercentLimit(rolling.MaxUnavailable, unavailable)...)
}

func checkRetention(
	policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path,
) (errs field.ErrorList) {
	known := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	if policy == nil {
		return nil
	}
	if !slices.Contains(known, policy.WhenDeleted) {
		errs = append(errs, field.NotSupported(path.Child("whenDeleted"), policy.WhenDeleted, known))
	}
	if !slices.Contains(known, policy.WhenScaled) {
		errs = append(errs, field.NotSupported(path.Child("whenScaled"), policy.WhenScaled, known))
	}
	return errs
}

func checkStatefulStatus(s *appsv1.StatefulSetStatus) field.ErrorList {
	ready := count{"readyReplicas", int64(s.ReadyReplicas)}
	available := count{"availableReplicas", int64(s.AvailableReplicas)}
	current := count{"currentReplicas", int64(s.CurrentReplicas)}
	updated := count{"updatedReplicas", int64(s.UpdatedReplicas)}
	errs := checkCounts(count{"replicas", int64(s.Replicas)}, ready, current, updated, available,
		count{"observedGeneration", s.ObservedGeneration},
		count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))})
	errs = append(errs, checkAtMost(count{"status.replicas", int64(s.Replicas)}, ready, current, updated, available)...)
	return append(errs, checkAtMost(count{"status.readyReplicas", int64(s.ReadyReplicas)}, available)...)
}
