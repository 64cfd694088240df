package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkMounts checks that mounts have different paths, and volumes that exist.
func (c *checker) checkMounts(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n := range container.VolumeMounts {
		mount := &container.VolumeMounts[n]
		name, mountPath := path.Index(n).Child("name"), path.Index(n).Child("mountPath")
		samePath := func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }
		sameDevice := func(device corev1.VolumeDevice) bool { return device.Name == mount.Name }
		sameDevicePath := func(device corev1.VolumeDevice) bool { return device.DevicePath == mount.MountPath }
		errs = append(errs, slices.Concat(
			rules.Required(mount.Name, name),
			rules.When(c.volumes[mount.Name] == nil, field.NotFound(name, mount.Name)),
			rules.Required(mount.MountPath, mountPath),
			rules.When(slices.ContainsFunc(container.VolumeMounts[:n], samePath),
				field.Invalid(mountPath, mount.MountPath, "must be unique")),
			rules.When(slices.ContainsFunc(container.VolumeDevices, sameDevice),
				field.Invalid(name, mount.Name, "must not already exist in volumeDevices")),
			rules.When(slices.ContainsFunc(container.VolumeDevices, sameDevicePath),
				field.Invalid(mountPath, mount.MountPath, "must not already exist as a path in volumeDevices")),
			checkDescending(mount.SubPath, path.Child("subPath")),
			rules.When(mount.SubPath != "" && mount.SubPathExpr != "", field.Invalid(path.Index(n).Child("subPathExpr"),
				mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")),
			checkDescending(mount.SubPathExpr, path.Child("subPathExpr")),
			checkPropagation(mount, container, path),
		)...)
	}
	return errs
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
		rules.When(mode == corev1.MountPropagationBidirectional && !privileged, field.Forbidden(propagation,
			"Bidirectional mount propagation is available only to privileged containers")),
		rules.When(depends && !mount.ReadOnly, field.Forbidden(recursive, "may only be specified when readOnly is true")),
		rules.When(depends && mode != corev1.MountPropagationNone,
			field.Forbidden(recursive, "may only be specified when mountPropagation is None or not specified")),
	)
}

// checkDevices checks that devices have different paths, and claims for volumes that exist.
func (c *checker) checkDevices(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n, device := range container.VolumeDevices {
		before, volume := container.VolumeDevices[:n], c.volumes[device.Name]
		name, devicePath := path.Index(n).Child("name"), path.Index(n).Child("devicePath")
		mounted := func(m corev1.VolumeMount) bool { return m.Name == device.Name }
		errs = append(errs, slices.Concat(
			rules.Required(device.Name, name),
			rules.When(slices.ContainsFunc(before, func(d corev1.VolumeDevice) bool { return d.Name == device.Name }),
				field.Invalid(name, device.Name, "must be unique")),
			rules.When(volume != nil && volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil, field.Invalid(name,
				device.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")),
			rules.When(volume == nil, field.NotFound(name, device.Name)),
			rules.Required(device.DevicePath, devicePath),
			rules.When(slices.ContainsFunc(before, func(d corev1.VolumeDevice) bool {
				return d.DevicePath == device.DevicePath
			}), field.Invalid(devicePath, device.DevicePath, "must be unique")),
			rules.When(hasBacksteps(device.DevicePath),
				field.Invalid(devicePath, device.DevicePath, "can not contain backsteps ('..')")),
			rules.When(slices.ContainsFunc(container.VolumeMounts, mounted),
				field.Invalid(name, device.Name, "must not already exist in volumeMounts")),
			rules.When(slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.MountPath == device.DevicePath
			}), field.Invalid(devicePath, device.DevicePath, "must not already exist as a path in volumeMounts")),
		)...)
	}
	return errs
}
