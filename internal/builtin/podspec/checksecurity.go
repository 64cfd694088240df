package podspec

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkPodSecurity(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	security := spec.SecurityContext
	if security == nil {
		return nil
	}
	errs = slices.Concat(
		checkGroup(security.FSGroup, path.Child("fsGroup")),
		checkUser(security.RunAsUser, path.Child("runAsUser")),
		checkGroup(security.RunAsGroup, path.Child("runAsGroup")),
		rules.Each(security.SupplementalGroups, path.Child("supplementalGroups"), checkGroup),
		checkSysctls(spec, path.Child("sysctls")),
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

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// checkSysctls checks the names of sysctls, and that the pod does not share their namespaces with the host.
func checkSysctls(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	const maxLength = 253
	names := sets.New[string]()
	for n, s := range spec.SecurityContext.Sysctls {
		item := path.Index(n).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(item, ""))
		case len(s.Name) > maxLength || !sysctlName.MatchString(s.Name):
			errs = append(errs, field.Invalid(item, s.Name,
				fmt.Sprintf("must have at most %d characters and match regex %s", maxLength, sysctlName)))
		default:
			errs = append(errs, checkNew(names, s.Name, item)...)
		}
		namespace, _, _ := sysctl.GetNamespace(s.Name)
		errs = append(errs, slices.Concat(
			rules.When(spec.HostNetwork && namespace == sysctl.NetNamespace,
				field.Invalid(item, s.Name, "may not be specified when 'hostNetwork' is true")),
			rules.When(spec.HostIPC && namespace == sysctl.IPCNamespace,
				field.Invalid(item, s.Name, "may not be specified when 'hostIPC' is true")),
		)...)
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
		checkEscalation(security, path), checkAppArmor(security.AppArmorProfile, path.Child("appArmorProfile")))
}

// checkEscalation checks that a container that may not get more privileges does not have all.
func checkEscalation(security *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if ptr.Deref(security.AllowPrivilegeEscalation, true) {
		return nil
	}
	added := ptr.Deref(security.Capabilities, corev1.Capabilities{}).Add
	return append(
		rules.When(ptr.Deref(security.Privileged, false), field.Invalid(path, security,
			"cannot set `allowPrivilegeEscalation` to false and `privileged` to true")),
		rules.When(slices.Contains(added, "CAP_SYS_ADMIN"), field.Invalid(path, security,
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))...)
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
