package podspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func (c *checker) checkContainers(path *field.Path) field.ErrorList {
	names := sets.New[string]()
	return slices.Concat(
		rules.Missing(len(c.spec.Containers) == 0, path, ""),
		rules.Each(c.spec.Containers, path, func(container *corev1.Container, path *field.Path) field.ErrorList {
			return slices.Concat(
				c.checkContainer(container, path),
				checkNew(names, container.Name, path.Child("name")),
				c.checkLifecycle(container, path),
				checkRestartPolicy(container, path),
				checkRestartRules(container, path.Child("restartPolicyRules")),
			)
		}),
		checkPortConflicts(c.spec.Containers, path),
	)
}

// checkNew checks that a name is not among others, and adds it to them.
func checkNew(names sets.Set[string], name string, path *field.Path) field.ErrorList {
	errs := rules.When(names.Has(name), field.Duplicate(path, name))
	names.Insert(name)
	return errs
}

func insertNames(names sets.Set[string], containers []corev1.Container) sets.Set[string] {
	for n := range containers {
		names.Insert(containers[n].Name)
	}
	return names
}

func (c *checker) checkInitContainers(path *field.Path) field.ErrorList {
	names := insertNames(sets.New[string](), c.spec.Containers)
	return rules.Each(c.spec.InitContainers, path, func(container *corev1.Container, item *field.Path) field.ErrorList {
		var restarts field.ErrorList
		if container.RestartPolicy != nil {
			restarts = checkRestartRules(container, item.Child("restartPolicyRules"))
		}
		checkKind := checkPlainInit
		if ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			checkKind = c.checkLifecycle // of a sidecar
		}
		return slices.Concat(
			c.checkContainer(container, item),
			checkRestartPolicy(container, item),
			restarts,
			checkNew(names, container.Name, item.Child("name")),
			checkPortConflicts([]corev1.Container{*container}, path),
			checkKind(container, item),
		)
	})
}

// checkPlainInit checks an init container that ends.
func checkPlainInit(container *corev1.Container, path *field.Path) field.ErrorList {
	return append(
		rules.Unset(container, path, "may not be set for init containers without restartPolicy=Always",
			"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"),
		rules.Every(container.ResizePolicy, path.Child("resizePolicy"),
			func(resize corev1.ContainerResizePolicy, path *field.Path) field.ErrorList {
				return rules.Invalid(resize.RestartPolicy == corev1.RestartContainer, path.Child("restartPolicy"),
					resize.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
			})...)
}

// checkContainer checks what containers of all three lists have.
func (c *checker) checkContainer(container *corev1.Container, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.RequiredLabel(container.Name, path.Child("name")),
		rules.Required(container.Image, path.Child("image")),
		rules.OneOf(container.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		checkPorts(container.Ports, path.Child("ports")),
		rules.Each(container.Env, path.Child("env"), checkVariable),
		checkEnvFrom(container.EnvFrom, path.Child("envFrom")),
		c.checkMounts(container, path.Child("volumeMounts")),
		c.checkDevices(container, path.Child("volumeDevices")),
		checkPullPolicy(container.ImagePullPolicy, path.Child("imagePullPolicy")),
		checkRequirements(&container.Resources, checkContainerResourceName, path.Child("resources")),
		c.checkResizePolicy(container.ResizePolicy, path.Child("resizePolicy")),
		rules.Optional(container.SecurityContext, path.Child("securityContext"), c.checkSecurity),
	)
}

func checkPullPolicy(policy corev1.PullPolicy, path *field.Path) field.ErrorList {
	return rules.OneOf(policy, path, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func checkPorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	names := sets.New[string]()
	return rules.Each(ports, path, func(port *corev1.ContainerPort, path *field.Path) (errs field.ErrorList) {
		if port.Name != "" {
			errs = rules.Messages(path.Child("name"), port.Name, validation.IsValidPortName(port.Name))
			if len(errs) == 0 {
				errs = checkNew(names, port.Name, path.Child("name"))
			}
		}
		return slices.Concat(errs,
			rules.Missing(port.ContainerPort == 0, path.Child("containerPort"), ""),
			checkPortNumber(port.ContainerPort, path.Child("containerPort")),
			checkPortNumber(port.HostPort, path.Child("hostPort")),
			rules.OneOf(port.Protocol, path.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		)
	})
}

// checkPortNumber checks the number of a port, unless it is left out.
func checkPortNumber(number int32, path *field.Path) field.ErrorList {
	return rules.Messages(path, number, validation.IsValidPortNum(int(cmp.Or(number, 1))))
}

// checkPortConflicts checks that no two containers use the same port of the host.
func checkPortConflicts(containers []corev1.Container, path *field.Path) (errs field.ErrorList) {
	used := sets.New[string]()
	for n := range containers {
		for m, port := range containers[n].Ports {
			if port.HostPort != 0 {
				errs = append(errs, checkNew(used, fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort),
					path.Index(n).Child("ports").Index(m).Child("hostPort"))...)
			}
		}
	}
	return errs
}

// checkHostPorts checks that containers in the network of the host use its ports.
func (c *checker) checkHostPorts(path *field.Path) (errs field.ErrorList) {
	if !c.spec.HostNetwork {
		return nil
	}
	for n := range c.spec.Containers {
		for m, port := range c.spec.Containers[n].Ports {
			differs := (c.pod != nil || port.HostPort != 0) && port.HostPort != port.ContainerPort
			errs = append(errs, rules.Invalid(differs, path.Index(n).Child("ports").Index(m).Child("hostPort"), port.HostPort,
				"must match `containerPort` when `hostNetwork` is true")...)
		}
	}
	return errs
}

func checkRestartPolicy(container *corev1.Container, path *field.Path) field.ErrorList {
	path = path.Child("restartPolicy")
	return append(rules.Missing(container.RestartPolicy == nil && len(container.RestartPolicyRules) > 0, path,
		"must specify restartPolicy when restart rules are used"),
		rules.Known(ptr.Deref(container.RestartPolicy, corev1.ContainerRestartPolicyAlways), path,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever,
			corev1.ContainerRestartPolicyOnFailure)...)
}

// The limits of the rules of one container, and of the exit codes of a rule.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

func checkRestartRules(container *corev1.Container, path *field.Path) field.ErrorList {
	return append(rules.AtMost(container.RestartPolicyRules, maxRestartRules, path),
		rules.Each(container.RestartPolicyRules, path, checkRestartRule)...)
}

func checkRestartRule(rule *corev1.ContainerRestartRule, path *field.Path) field.ErrorList {
	codes := ptr.Deref(rule.ExitCodes,
		corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn})
	return slices.Concat(
		rules.Known(rule.Action, path.Child("action"),
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers),
		rules.Missing(rule.ExitCodes == nil, path.Child("exitCodes"), "must be specified"),
		rules.Known(codes.Operator, path.Child("exitCodes", "operator"),
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn),
		rules.AtMost(codes.Values, maxExitCodes, path.Child("exitCodes", "values")),
	)
}

func (c *checker) checkResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) field.ErrorList {
	seen := sets.New[string]()
	return rules.Every(policies, path, func(policy corev1.ContainerResizePolicy, item *field.Path) field.ErrorList {
		return slices.Concat(
			checkNew(seen, string(policy.ResourceName), item),
			rules.OneOf(policy.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory),
			rules.OneOf(policy.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer),
			rules.Invalid(c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired, path,
				policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
		)
	})
}

// CheckImageSpaces checks that an image of a pod has no space around it. Images of templates are not checked for this,
// as in kube-apiserver.
func CheckImageSpaces(container *corev1.Container, path *field.Path) field.ErrorList {
	return rules.Invalid(strings.TrimSpace(container.Image) != container.Image, path.Child("image"), container.Image,
		"must not have leading or trailing whitespace")
}

func (c *checker) checkEphemeralContainers(path *field.Path) field.ErrorList {
	others := insertNames(insertNames(sets.New[string](), c.spec.Containers), c.spec.InitContainers)
	names := others.Clone()
	return rules.Each(c.spec.EphemeralContainers, path,
		func(ephemeral *corev1.EphemeralContainer, path *field.Path) field.ErrorList {
			container, target := (*corev1.Container)(&ephemeral.EphemeralContainerCommon), ephemeral.TargetContainerName
			return slices.Concat(
				c.checkContainer(container, path),
				CheckImageSpaces(container, path),
				checkNew(names, container.Name, path.Child("name")),
				rules.When(target != "" && !others.Has(target), field.NotFound(path.Child("targetContainerName"), target)),
				checkEphemeralFields(container, path),
			)
		})
}

// checkEphemeralFields checks that an ephemeral container has no fields that only others may have.
func checkEphemeralFields(container *corev1.Container, path *field.Path) field.ErrorList {
	const message = "cannot be set for an Ephemeral Container"
	return append(rules.Unset(container, path, message, "ports", "resources", "resizePolicy", "restartPolicy",
		"restartPolicyRules", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
		rules.Each(container.VolumeMounts, path.Child("volumeMounts"),
			func(mount *corev1.VolumeMount, path *field.Path) field.ErrorList {
				return rules.Unset(mount, path, message, "subPath", "subPathExpr")
			})...)
}

// checkMounts checks that mounts have different paths, and volumes that exist.
func (c *checker) checkMounts(container *corev1.Container, path *field.Path) field.ErrorList {
	devices, devicePaths, seen := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, device := range container.VolumeDevices {
		devices.Insert(device.Name)
		devicePaths.Insert(device.DevicePath)
	}
	return rules.Each(container.VolumeMounts, path, func(mount *corev1.VolumeMount, item *field.Path) field.ErrorList {
		name, mountPath, before := item.Child("name"), item.Child("mountPath"), seen.Has(mount.MountPath)
		seen.Insert(mount.MountPath)
		return slices.Concat(
			rules.Required(mount.Name, name),
			rules.When(c.volumes[mount.Name] == nil, field.NotFound(name, mount.Name)),
			rules.Required(mount.MountPath, mountPath),
			rules.Invalid(before, mountPath, mount.MountPath, "must be unique"),
			rules.Invalid(devices.Has(mount.Name), name, mount.Name, "must not already exist in volumeDevices"),
			rules.Invalid(devicePaths.Has(mount.MountPath), mountPath, mount.MountPath,
				"must not already exist as a path in volumeDevices"),
			checkDescending(mount.SubPath, path.Child("subPath")),
			rules.Invalid(mount.SubPath != "" && mount.SubPathExpr != "", item.Child("subPathExpr"), mount.SubPathExpr,
				"subPathExpr and subPath are mutually exclusive"),
			checkDescending(mount.SubPathExpr, path.Child("subPathExpr")),
			checkPropagation(mount, container, path),
		)
	})
}

// checkPropagation checks how a mount is shared. The errors name the list instead of the item, as those of
// kube-apiserver.
func checkPropagation(mount *corev1.VolumeMount, container *corev1.Container, path *field.Path) field.ErrorList {
	mode := ptr.Deref(mount.MountPropagation, corev1.MountPropagationNone)
	propagation, recursive := path.Child("mountPropagation"), path.Child("recursiveReadOnly")
	privileged := container.SecurityContext != nil && ptr.Deref(container.SecurityContext.Privileged, false)
	depends := ptr.Deref(mount.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled) != corev1.RecursiveReadOnlyDisabled
	return slices.Concat(
		rules.OneOf(mode, propagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer,
			corev1.MountPropagationNone),
		rules.Forbidden(mode == corev1.MountPropagationBidirectional && !privileged, propagation,
			"Bidirectional mount propagation is available only to privileged containers"),
		rules.Forbidden(depends && !mount.ReadOnly, recursive, "may only be specified when readOnly is true"),
		rules.Forbidden(depends && mode != corev1.MountPropagationNone, recursive,
			"may only be specified when mountPropagation is None or not specified"),
	)
}

// checkDevices checks that devices have different paths, and claims for volumes that exist.
func (c *checker) checkDevices(container *corev1.Container, path *field.Path) field.ErrorList {
	mounts, mountPaths := sets.New[string](), sets.New[string]()
	for _, mount := range container.VolumeMounts {
		mounts.Insert(mount.Name)
		mountPaths.Insert(mount.MountPath)
	}
	names, paths := sets.New[string](), sets.New[string]()
	return rules.Every(container.VolumeDevices, path, func(device corev1.VolumeDevice, path *field.Path) field.ErrorList {
		name, devicePath, volume := path.Child("name"), path.Child("devicePath"), c.volumes[device.Name]
		sameName, samePath := names.Has(device.Name), paths.Has(device.DevicePath)
		names.Insert(device.Name)
		paths.Insert(device.DevicePath)
		return slices.Concat(
			rules.Required(device.Name, name),
			rules.Invalid(sameName, name, device.Name, "must be unique"),
			rules.Invalid(volume != nil && volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil, name, device.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"),
			rules.When(volume == nil, field.NotFound(name, device.Name)),
			rules.Required(device.DevicePath, devicePath),
			rules.Invalid(samePath, devicePath, device.DevicePath, "must be unique"),
			rules.Invalid(hasBacksteps(device.DevicePath), devicePath, device.DevicePath, "can not contain backsteps ('..')"),
			rules.Invalid(mounts.Has(device.Name), name, device.Name, "must not already exist in volumeMounts"),
			rules.Invalid(mountPaths.Has(device.DevicePath), devicePath, device.DevicePath,
				"must not already exist as a path in volumeMounts"),
		)
	})
}
