package podspec

import (
	"fmt"
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
	p := localProfile{"seccompProfile", "seccomp", string(profile.Type), profile.LocalhostProfile, profile}
	errs := p.check(path)
	if profile.Type == corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile != nil {
		errs = append(errs, checkDescending(*profile.LocalhostProfile, path.Child("localhostProfile"))...)
	}
	return errs
}

func checkAppArmor(profile *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	file := profile.LocalhostProfile
	p := localProfile{"appArmorProfile", "AppArmor", string(profile.Type), file, file}
	return p.check(path)
}

// localProfile is a profile of seccomp or AppArmor.
type localProfile struct {
	field, owner, kind string
	// file is the profile on the node, value is what an error shows of it.
	file  *string
	value any
}

func (p *localProfile) check(path *field.Path) field.ErrorList {
	kind, file, isLocal := path.Child("type"), path.Child("localhostProfile"), p.kind == "Localhost"
	errs := rules.When(p.kind == "", field.Required(kind, fmt.Sprintf("type is required when %s is set", p.field)))
	if p.kind != "" {
		errs = rules.Known(p.kind, kind, "Localhost", "RuntimeDefault", "Unconfined")
	}
	return slices.Concat(errs,
		rules.When(isLocal && p.file == nil,
			field.Required(file, fmt.Sprintf("must be set when %s type is Localhost", p.owner))),
		rules.When(!isLocal && p.file != nil,
			field.Invalid(file, p.value, fmt.Sprintf("can only be set when %s type is Localhost", p.owner))),
	)
}
