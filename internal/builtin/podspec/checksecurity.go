package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func checkPodSecurity(security *corev1.PodSecurityContext, path *field.Path) (errs field.ErrorList) {
	if security == nil {
		return nil
	}
	errs = append(errs, checkGroup(security.FSGroup, path.Child("fsGroup"))...)
	errs = append(errs, checkUser(security.RunAsUser, path.Child("runAsUser"))...)
	errs = append(errs, checkGroup(security.RunAsGroup, path.Child("runAsGroup"))...)
	for n, group := range security.SupplementalGroups {
		errs = append(errs, checkGroup(&group, path.Child("supplementalGroups").Index(n))...)
	}
	names := map[string]bool{}
	for n, sysctl := range security.Sysctls {
		name := path.Child("sysctls").Index(n).Child("name")
		switch {
		case sysctl.Name == "":
			errs = append(errs, field.Required(name, ""))
		case names[sysctl.Name]:
			errs = append(errs, field.Duplicate(name, sysctl.Name))
		}
		names[sysctl.Name] = true
	}
	if policy := security.FSGroupChangePolicy; policy != nil {
		errs = append(errs, checkOneOf(*policy, path.Child("fsGroupChangePolicy"),
			corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	errs = append(errs, checkSeccomp(security.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, checkAppArmor(security.AppArmorProfile, path.Child("appArmorProfile"))...)
	if policy := security.SupplementalGroupsPolicy; policy != nil {
		errs = append(errs, checkOneOf(*policy, path.Child("supplementalGroupsPolicy"),
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if policy := security.SELinuxChangePolicy; policy != nil {
		errs = append(errs, checkOneOf(*policy, path.Child("seLinuxChangePolicy"),
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return errs
}

func checkUser(user *int64, path *field.Path) field.ErrorList {
	if user == nil {
		return nil
	}
	return invalid(path, *user, validation.IsValidUserID(*user))
}

func checkGroup(group *int64, path *field.Path) field.ErrorList {
	if group == nil {
		return nil
	}
	return invalid(path, *group, validation.IsValidGroupID(*group))
}

func (c *checker) checkSecurity(security *corev1.SecurityContext, path *field.Path) (errs field.ErrorList) {
	if security == nil {
		return nil
	}
	errs = append(errs, checkUser(security.RunAsUser, path.Child("runAsUser"))...)
	errs = append(errs, checkGroup(security.RunAsGroup, path.Child("runAsGroup"))...)
	if mount := security.ProcMount; mount != nil {
		errs = append(errs, checkOneOf(*mount, path.Child("procMount"),
			corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
		if *mount == corev1.UnmaskedProcMount && ptr.Deref(c.spec.HostUsers, true) {
			errs = append(errs, field.Invalid(path.Child("procMount"), mount, "`hostUsers` must be false to use `Unmasked`"))
		}
	}
	errs = append(errs, checkSeccomp(security.SeccompProfile, path.Child("seccompProfile"))...)
	if !ptr.Deref(security.AllowPrivilegeEscalation, true) {
		if ptr.Deref(security.Privileged, false) {
			errs = append(errs, field.Invalid(path, security,
				"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		}
	}
	return append(errs, checkAppArmor(security.AppArmorProfile, path.Child("appArmorProfile"))...)
}

func checkSeccomp(profile *corev1.SeccompProfile, path *field.Path) (errs field.ErrorList) {
	if profile == nil {
		return nil
	}
	kind, local := path.Child("type"), path.Child("localhostProfile")
	if profile.Type == "" {
		errs = append(errs, field.Required(kind, "type is required when seccompProfile is set"))
	} else {
		errs = append(errs, checkOneOf(profile.Type, kind, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	switch isLocal := profile.Type == corev1.SeccompProfileTypeLocalhost; {
	case isLocal && profile.LocalhostProfile == nil:
		errs = append(errs, field.Required(local, "must be set when seccomp type is Localhost"))
	case isLocal:
		errs = append(errs, checkDescending(*profile.LocalhostProfile, local)...)
	case profile.LocalhostProfile != nil:
		errs = append(errs, field.Invalid(local, profile, "can only be set when seccomp type is Localhost"))
	}
	return errs
}

func checkAppArmor(profile *corev1.AppArmorProfile, path *field.Path) (errs field.ErrorList) {
	if profile == nil {
		return nil
	}
	local := path.Child("localhostProfile")
	if profile.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	} else {
		errs = append(errs, checkOneOf(profile.Type, path.Child("type"), corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)...)
	}
	switch isLocal := profile.Type == corev1.AppArmorProfileTypeLocalhost; {
	case isLocal && profile.LocalhostProfile == nil:
		errs = append(errs, field.Required(local, "must be set when AppArmor type is Localhost"))
	case !isLocal && profile.LocalhostProfile != nil:
		errs = append(errs, field.Invalid(local, profile.LocalhostProfile, "can only be set when AppArmor type is Localhost"))
	}
	return errs
}

// checkHostUsers checks that a pod with users of its own does not share more with the host.
func (c *checker) checkHostUsers(path *field.Path) (errs field.ErrorList) {
	if ptr.Deref(c.spec.HostUsers, true) {
		return nil
	}
	if c.spec.HostNetwork {
		errs = append(errs, field.Forbidden(path.Child("hostNetwork"), "when `hostUsers` is false"))
	}
	if c.spec.HostPID {
		errs = append(errs, field.Forbidden(path.Child("HostPID"), "when `hostUsers` is false"))
	}
	if c.spec.HostIPC {
		errs = append(errs, field.Forbidden(path.Child("HostIPC"), "when `hostUsers` is false"))
	}
	return errs
}
