package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// checkMounts checks that mounts have different paths, and volumes that exist.
func (c *checker) checkMounts(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n := range container.VolumeMounts {
		mount, item := &container.VolumeMounts[n], path.Index(n)
		if mount.Name == "" {
			errs = append(errs, field.Required(item.Child("name"), ""))
		}
		if c.volumes[mount.Name] == nil {
			errs = append(errs, field.NotFound(item.Child("name"), mount.Name))
		}
		if mount.MountPath == "" {
			errs = append(errs, field.Required(item.Child("mountPath"), ""))
		}
		samePath := func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }
		if slices.ContainsFunc(container.VolumeMounts[:n], samePath) {
			errs = append(errs, field.Invalid(item.Child("mountPath"), mount.MountPath, "must be unique"))
		}
		sameDevice := func(device corev1.VolumeDevice) bool { return device.Name == mount.Name }
		if slices.ContainsFunc(container.VolumeDevices, sameDevice) {
			errs = append(errs, field.Invalid(item.Child("name"), mount.Name, "must not already exist in volumeDevices"))
		}
		sameDevicePath := func(device corev1.VolumeDevice) bool { return device.DevicePath == mount.MountPath }
		if slices.ContainsFunc(container.VolumeDevices, sameDevicePath) {
			errs = append(errs, field.Invalid(item.Child("mountPath"), mount.MountPath,
				"must not already exist as a path in volumeDevices"))
		}
		errs = append(errs, checkSubPath(mount, item, path)...)
		errs = append(errs, checkPropagation(mount, container, path)...)
	}
	return errs
}

// checkSubPath checks the part of the volume that is mounted. Some errors name the list instead of the item, as those
// of kube-apiserver.
func checkSubPath(mount *corev1.VolumeMount, item, list *field.Path) (errs field.ErrorList) {
	if mount.SubPath != "" {
		errs = append(errs, checkDescending(mount.SubPath, list.Child("subPath"))...)
	}
	if mount.SubPathExpr == "" {
		return errs
	}
	if mount.SubPath != "" {
		errs = append(errs, field.Invalid(item.Child("subPathExpr"), mount.SubPathExpr,
			"subPathExpr and subPath are mutually exclusive"))
	}
	return append(errs, checkDescending(mount.SubPathExpr, list.Child("subPathExpr"))...)
}

func checkPropagation(mount *corev1.VolumeMount, container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	mode := ptr.Deref(mount.MountPropagation, corev1.MountPropagationNone)
	propagation, recursive := path.Child("mountPropagation"), path.Child("recursiveReadOnly")
	if mount.MountPropagation != nil {
		errs = append(errs, checkOneOf(mode, propagation, corev1.MountPropagationBidirectional,
			corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)...)
	}
	privileged := container.SecurityContext != nil && ptr.Deref(container.SecurityContext.Privileged, false)
	if mode == corev1.MountPropagationBidirectional && !privileged {
		errs = append(errs, field.Forbidden(propagation,
			"Bidirectional mount propagation is available only to privileged containers"))
	}
	if mount.RecursiveReadOnly == nil {
		return errs
	}
	errs = append(errs, checkOneOf(*mount.RecursiveReadOnly, recursive, corev1.RecursiveReadOnlyDisabled,
		corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible)...)
	if *mount.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return errs
	}
	if !mount.ReadOnly {
		errs = append(errs, field.Forbidden(recursive, "may only be specified when readOnly is true"))
	}
	if mode != corev1.MountPropagationNone {
		errs = append(errs,
			field.Forbidden(recursive, "may only be specified when mountPropagation is None or not specified"))
	}
	return errs
}

// checkDevices checks that devices have different paths, and claims for volumes that exist.
func (c *checker) checkDevices(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n, device := range container.VolumeDevices {
		item, before := path.Index(n), container.VolumeDevices[:n]
		name, devicePath := item.Child("name"), item.Child("devicePath")
		if device.Name == "" {
			errs = append(errs, field.Required(name, ""))
		}
		if slices.ContainsFunc(before, func(d corev1.VolumeDevice) bool { return d.Name == device.Name }) {
			errs = append(errs, field.Invalid(name, device.Name, "must be unique"))
		}
		switch volume := c.volumes[device.Name]; {
		case volume == nil:
			errs = append(errs, field.NotFound(name, device.Name))
		case volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil:
			errs = append(errs, field.Invalid(name, device.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		if device.DevicePath == "" {
			errs = append(errs, field.Required(devicePath, ""))
		}
		if slices.ContainsFunc(before, func(d corev1.VolumeDevice) bool { return d.DevicePath == device.DevicePath }) {
			errs = append(errs, field.Invalid(devicePath, device.DevicePath, "must be unique"))
		}
		if len(checkNoBacksteps(device.DevicePath, devicePath)) > 0 {
			errs = append(errs, field.Invalid(devicePath, device.DevicePath, "can not contain backsteps ('..')"))
		}
		if slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == device.Name }) {
			errs = append(errs, field.Invalid(name, device.Name, "must not already exist in volumeMounts"))
		}
	}
	return errs
}
