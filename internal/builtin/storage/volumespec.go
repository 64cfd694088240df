package storage

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// defaultVolumeSpec sets the defaults of a volume that those in a VolumeAttachment have too.
func defaultVolumeSpec(spec *corev1.PersistentVolumeSpec) {
	podspec.DefaultQuantities(spec.Capacity)
	if hostPath := spec.HostPath; hostPath != nil && hostPath.Type == nil {
		hostPath.Type = new(corev1.HostPathUnset)
	}
	if rbd := spec.RBD; rbd != nil {
		setDefault(&rbd.RBDPool, "rbd")
		setDefault(&rbd.RadosUser, "admin")
		setDefault(&rbd.Keyring, "/etc/ceph/keyring")
	}
	if spec.ISCSI != nil {
		setDefault(&spec.ISCSI.ISCSIInterface, "default")
	}
	if scaleIO := spec.ScaleIO; scaleIO != nil {
		setDefault(&scaleIO.StorageMode, "ThinProvisioned")
		setDefault(&scaleIO.FSType, "xfs")
	}
	if disk := spec.AzureDisk; disk != nil {
		defaultAzureDisk(disk)
	}
}

func setDefault(value *string, to string) {
	if *value == "" {
		*value = to
	}
}

func defaultAzureDisk(disk *corev1.AzureDiskVolumeSource) {
	resource.Default(&disk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	resource.Default(&disk.FSType, "ext4")
	resource.Default(&disk.ReadOnly, false)
	resource.Default(&disk.Kind, corev1.AzureSharedBlobDisk)
}

// volumeCheck checks the spec of a volume.
type volumeCheck struct {
	path *field.Path
	errs field.ErrorList
}

func (c *volumeCheck) run(spec *corev1.PersistentVolumeSpec) field.ErrorList {
	if len(spec.AccessModes) == 0 {
		c.require("accessModes", "")
	}
	c.add(podspec.CheckAccessModes(spec.AccessModes, c.path.Child("accessModes"))...)
	c.capacity(spec.Capacity)
	reclaim := c.path.Child("persistentVolumeReclaimPolicy")
	c.add(rules.Known(spec.PersistentVolumeReclaimPolicy, reclaim, corev1.PersistentVolumeReclaimDelete,
		corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	if spec.NodeAffinity != nil {
		c.add(checkVolumeAffinity(spec.NodeAffinity, c.path.Child("nodeAffinity"))...)
	}
	c.source(spec)
	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		c.add(field.Forbidden(reclaim, "may not be 'recycle' for a hostPath mount of '/'"))
	}
	if class := spec.StorageClassName; class != "" {
		c.add(rules.Messages(c.path.Child("storageClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))...)
	}
	if mode := spec.VolumeMode; mode != nil {
		c.add(rules.Known(
			*mode, c.path.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	c.attributesClass(spec)
	return c.errs
}

func (c *volumeCheck) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *volumeCheck) require(name, message string) {
	c.add(field.Required(c.path.Child(name), message))
}

func (c *volumeCheck) capacity(list corev1.ResourceList) {
	path := c.path.Child("capacity")
	if len(list) == 0 {
		c.require("capacity", "")
	}
	if _, found := list[corev1.ResourceStorage]; !found || len(list) > 1 {
		c.add(field.NotSupported(path, list, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for name, quantity := range list {
		at := path.Key(string(name))
		c.add(checkQuantity(quantity, at)...)
		if quantity.Sign() <= 0 {
			c.add(field.Invalid(at, quantity.String(), "must be greater than zero"))
		}
	}
}

// checkQuantity returns the error of a negative quantity.
func checkQuantity(quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	if quantity.Value() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, quantity.Value(), "must be a valid resource quantity")}
}

func (c *volumeCheck) attributesClass(spec *corev1.PersistentVolumeSpec) {
	class := spec.VolumeAttributesClassName
	if class == nil {
		return
	}
	if *class == "" {
		c.require("volumeAttributesClassName", "an empty string is disallowed")
	} else {
		c.add(rules.Messages(c.path.Child("volumeAttributesClassName"), *class,
			apivalidation.NameIsDNSSubdomain(*class, false))...)
	}
	if spec.CSI == nil {
		c.require("csi", "has to be specified when using volumeAttributesClassName")
	}
}
