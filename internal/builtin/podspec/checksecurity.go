package podspec

import (
	"cmp"
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
	return slices.Concat(
		checkGroup(security.FSGroup, path.Child("fsGroup")),
		checkUser(security.RunAsUser, path.Child("runAsUser")),
		checkGroup(security.RunAsGroup, path.Child("runAsGroup")),
		rules.Each(security.SupplementalGroups, path.Child("supplementalGroups"), checkGroup),
		checkSysctls(spec, path.Child("sysctls")),
		rules.Known(ptr.Deref(security.FSGroupChangePolicy, corev1.FSGroupChangeAlways),
			path.Child("fsGroupChangePolicy"), corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch),
		rules.Optional(security.SeccompProfile, path.Child("seccompProfile"), checkSeccomp),
		rules.Optional(security.AppArmorProfile, path.Child("appArmorProfile"), checkAppArmor),
		rules.Known(ptr.Deref(security.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge),
			path.Child("supplementalGroupsPolicy"),
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		rules.OneOf(ptr.Deref(security.SELinuxChangePolicy, corev1.SELinuxChangePolicyRecursive),
			path.Child("seLinuxChangePolicy"),
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive),
	)
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// checkSysctls checks the names of sysctls, and that the pod does not share their namespaces with the host.
func checkSysctls(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	const maxLength = 253
	names := sets.New[string]()
	return rules.Every(spec.SecurityContext.Sysctls, path, func(s corev1.Sysctl, path *field.Path) field.ErrorList {
		path = path.Child("name")
		errs := rules.Required(s.Name, path)
		if s.Name != "" {
			errs = rules.Invalid(len(s.Name) > maxLength || !sysctlName.MatchString(s.Name), path, s.Name,
				fmt.Sprintf("must have at most %d characters and match regex %s", maxLength, sysctlName))
		}
		if len(errs) == 0 {
			errs = checkNew(names, s.Name, path)
		}
		namespace, _, _ := sysctl.GetNamespace(s.Name)
		return slices.Concat(errs,
			rules.Invalid(spec.HostNetwork && namespace == sysctl.NetNamespace, path, s.Name,
				"may not be specified when 'hostNetwork' is true"),
			rules.Invalid(spec.HostIPC && namespace == sysctl.IPCNamespace, path, s.Name,
				"may not be specified when 'hostIPC' is true"),
		)
	})
}

func checkUser(user *int64, path *field.Path) field.ErrorList {
	return rules.Messages(path, user, validation.IsValidUserID(ptr.Deref(user, 0)))
}

func checkGroup(group *int64, path *field.Path) field.ErrorList {
	return rules.Messages(path, group, validation.IsValidGroupID(ptr.Deref(group, 0)))
}

func (c *checker) checkSecurity(security corev1.SecurityContext, path *field.Path) field.ErrorList {
	mount := ptr.Deref(security.ProcMount, corev1.DefaultProcMount)
	return slices.Concat(
		checkUser(security.RunAsUser, path.Child("runAsUser")),
		checkGroup(security.RunAsGroup, path.Child("runAsGroup")),
		rules.OneOf(mount, path.Child("procMount"), corev1.DefaultProcMount, corev1.UnmaskedProcMount),
		rules.Invalid(mount == corev1.UnmaskedProcMount && ptr.Deref(c.spec.HostUsers, true), path.Child("procMount"), mount,
			"`hostUsers` must be false to use `Unmasked`"),
		rules.Optional(security.SeccompProfile, path.Child("seccompProfile"), checkSeccomp),
		checkEscalation(&security, path),
		rules.Optional(security.AppArmorProfile, path.Child("appArmorProfile"), checkAppArmor),
	)
}

// checkEscalation checks that a container that may not get more privileges does not have all.
func checkEscalation(security *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if ptr.Deref(security.AllowPrivilegeEscalation, true) {
		return nil
	}
	added := ptr.Deref(security.Capabilities, corev1.Capabilities{}).Add
	return append(
		rules.Invalid(ptr.Deref(security.Privileged, false), path, security,
			"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"),
		rules.Invalid(slices.Contains(added, "CAP_SYS_ADMIN"), path, security,
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")...)
}

func checkSeccomp(profile corev1.SeccompProfile, path *field.Path) field.ErrorList {
	p := localProfile{"seccompProfile", "seccomp", string(profile.Type), profile.LocalhostProfile, profile}
	errs := p.check(path)
	if profile.Type == corev1.SeccompProfileTypeLocalhost {
		errs = append(errs, rules.Optional(profile.LocalhostProfile, path.Child("localhostProfile"), checkDescending)...)
	}
	return errs
}

func checkAppArmor(profile corev1.AppArmorProfile, path *field.Path) field.ErrorList {
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
	return slices.Concat(
		rules.Missing(p.kind == "", kind, fmt.Sprintf("type is required when %s is set", p.field)),
		rules.Known(cmp.Or(p.kind, "Unconfined"), kind, "Localhost", "RuntimeDefault", "Unconfined"),
		rules.Missing(isLocal && p.file == nil, file, fmt.Sprintf("must be set when %s type is Localhost", p.owner)),
		rules.Invalid(!isLocal && p.file != nil, file, p.value,
			fmt.Sprintf("can only be set when %s type is Localhost", p.owner)),
	)
}
