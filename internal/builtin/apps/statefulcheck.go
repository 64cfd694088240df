package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkStatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	part := statefulUpdate
	part.template = len(checkStatefulSet(&old.Spec, statefulUpdate)) == 0
	return slices.Concat(
		resource.CheckMetadataUpdate(&s.ObjectMeta, &old.ObjectMeta),
		checkStatefulSet(&s.Spec, part),
		checkConstant(s.Spec.ServiceName, old.Spec.ServiceName, "serviceName"),
		checkConstant(s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, "podManagementPolicy"),
		checkConstant(s.Spec.Selector, old.Spec.Selector, "selector"),
		checkConstant(s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, "volumeClaimTemplates"),
	)
}

// statefulPart says which parts of a StatefulSet are checked.
type statefulPart struct{ constant, template bool }

// A constant field of a stored object stays as it is, even if it has become invalid.
var (
	statefulCreation = statefulPart{constant: true, template: true}
	statefulUpdate   = statefulPart{template: true}
)

func checkStatefulSet(spec *appsv1.StatefulSetSpec, part statefulPart) field.ErrorList {
	s := selection{kind: "statefulset", selector: spec.Selector, template: withClaims(spec)}
	if part.template {
		s.check = podspec.CheckTemplate
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
		checkRetention(spec.PersistentVolumeClaimRetentionPolicy, specPath.Child("persistentVolumeClaimRetentionPolicy")),
		claims,
		checkNumber(ptr.Deref(spec.Replicas, 0), "replicas"),
		checkNumber(spec.MinReadySeconds, "minReadySeconds"),
		checkNumber(ptr.Deref(spec.Ordinals, appsv1.StatefulSetOrdinals{}).Start, "ordinals.start"),
		service,
		s.errors(),
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
	return rules.When(policy != appsv1.OrderedReadyPodManagement && policy != appsv1.ParallelPodManagement,
		field.Invalid(path, policy, fmt.Sprintf("must be '%s' or '%s'",
			appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
}

func checkStatefulStrategy(strategy *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		return rules.When(strategy.RollingUpdate != nil,
			field.Invalid(rolling, strategy.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"))
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
	unavailable, most := path.Child("maxUnavailable"), rolling.MaxUnavailable
	return slices.Concat(
		rules.NonNegative(ptr.Deref(rolling.Partition, 0), path.Child("partition")),
		rules.IntOrPercent(most, unavailable),
		rules.When(most != nil && rules.NumberOf(most) == 0, field.Invalid(unavailable, most, "cannot be 0")),
		rules.PercentLimit(most, unavailable),
	)
}

func checkRetention(
	policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path,
) (errs field.ErrorList) {
	if policy == nil {
		return nil
	}
	keep := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	remove := appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	return append(rules.Known(policy.WhenDeleted, path.Child("whenDeleted"), keep, remove),
		rules.Known(policy.WhenScaled, path.Child("whenScaled"), keep, remove)...)
}
