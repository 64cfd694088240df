package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkPodSecurity(security *corev1.PodSecurityContext, path *field.Path) (errs field.ErrorList) {
	if security == nil {
		return nil
	}
	errs = slices.Concat(
		checkGroup(security.FSGroup, path.Child("fsGroup")),
		checkUser(security.RunAsUser, path.Child("runAsUser")),
		checkGroup(security.RunAsGroup, path.Child("runAsGroup")),
		rules.Each(security.SupplementalGroups, path.Child("supplementalGroups"), checkGroup),
	)
	if policy := security.FSGroupChangePolicy; policy != nil {
		errs = append(errs, rules.Known(*policy, path.Child("fsGroupChangePolicy"),
			corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	errs = append(errs, checkSeccomp(security.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, checkAppArmor(security.AppArmorProfile, path.Child("appArmorProfile"))...)
	if policy := security.SupplementalGroupsPolicy; policy != nil {
		errs = append(errs, rules.Known(*policy, path.Child("supplementalGroupsPolicy"),
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if policy := security.SELinuxChangePolicy; policy != nil {
		errs = append(errs, rules.OneOf(*policy, path.Child("seLinuxChangePolicy"),
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return errs
}

func checkUser(user *int64, path *field.Path) field.ErrorList {
	if user == nil {
		return nil
	}
	return rules.Messages(path, *user, validation.IsValidUserID(*user))
}

func checkGroup(group *int64, path *field.Path) field.ErrorList {
	if group == nil {
		return nil
	}
	return rules.Messages(path, *group, validation.IsValidGroupID(*group))
}

func (c *checker) checkSecurity(security *corev1.SecurityContext, path *field.Path) (errs field.ErrorList) {
	if security == nil {
		return nil
	}
	errs = append(checkUser(security.RunAsUser, path.Child("runAsUser")),
		checkGroup(security.RunAsGroup, path.Child("runAsGroup"))...)
	if mount := security.ProcMount; mount != nil {
		errs = append(errs, rules.OneOf(*mount, path.Child("procMount"),
			corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
		errs = append(errs, rules.When(*mount == corev1.UnmaskedProcMount && ptr.Deref(c.spec.HostUsers, true),
			field.Invalid(path.Child("procMount"), mount, "`hostUsers` must be false to use `Unmasked`"))...)
	}
	return slices.Concat(errs, checkSeccomp(security.SeccompProfile, path.Child("seccompProfile")),
		checkAppArmor(security.AppArmorProfile, path.Child("appArmorProfile")))
}

func checkSeccomp(profile *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	local, isLocal := profile.LocalhostProfile, profile.Type == corev1.SeccompProfileTypeLocalhost
	errs := rules.When(profile.Type == "",
		field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	if profile.Type != "" {
		errs = rules.Known(profile.Type, path.Child("type"), corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	path = path.Child("localhostProfile")
	if isLocal && local != nil {
		return append(errs, checkDescending(*local, path)...)
	}
	return slices.Concat(errs,
		rules.When(isLocal, field.Required(path, "must be set when seccomp type is Localhost")),
		rules.When(local != nil, field.Invalid(path, profile, "can only be set when seccomp type is Localhost")),
	)
}

func checkAppArmor(profile *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	local, isLocal := profile.LocalhostProfile, profile.Type == corev1.AppArmorProfileTypeLocalhost
	errs := rules.When(profile.Type == "",
		field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	if profile.Type != "" {
		errs = rules.Known(profile.Type, path.Child("type"), corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
	path = path.Child("localhostProfile")
	return slices.Concat(errs,
		rules.When(isLocal && local == nil, field.Required(path, "must be set when AppArmor type is Localhost")),
		rules.When(!isLocal && local != nil, field.Invalid(path, local, "can only be set when AppArmor type is Localhost")),
	)
}
