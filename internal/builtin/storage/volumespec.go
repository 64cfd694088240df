package storage

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// defaultVolumeSpec sets the defaults of a volume that those in a VolumeAttachment have too.
func defaultVolumeSpec(spec *corev1.PersistentVolumeSpec) {
	roundUp(spec.Capacity)
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
	if disk.CachingMode == nil {
		disk.CachingMode = new(corev1.AzureDataDiskCachingReadWrite)
	}
	if disk.FSType == nil {
		disk.FSType = new("ext4")
	}
	if disk.ReadOnly == nil {
		disk.ReadOnly = new(false)
	}
	if disk.Kind == nil {
		disk.Kind = new(corev1.AzureSharedBlobDisk)
	}
}

// roundUp rounds quantities up to thousandths.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(apiresource.Milli)
		list[name] = quantity
	}
}

// volumeCheck checks the spec of a volume.
type volumeCheck struct {
	path *field.Path
	// inline says that the spec is that in a VolumeAttachment, which has no PersistentVolume.
	inline bool
	errs   field.ErrorList
}

func (c *volumeCheck) run(spec *corev1.PersistentVolumeSpec) field.ErrorList {
	if c.inline {
		c.forbid(spec.ClaimRef != nil, "claimRef")
		c.forbid(len(spec.Capacity) > 0, "capacity")
		if spec.CSI == nil {
			c.require("csi", "has to be specified in the context of inline volumes")
		}
	}
	if len(spec.AccessModes) == 0 {
		c.require("accessModes", "")
	}
	c.add(checkAccessModes(spec.AccessModes, c.path.Child("accessModes"))...)
	if !c.inline {
		c.capacity(spec.Capacity)
	}
	c.reclaimPolicy(spec.PersistentVolumeReclaimPolicy)
	if spec.NodeAffinity != nil && c.inline {
		c.forbid(true, "nodeAffinity")
	} else if spec.NodeAffinity != nil {
		c.add(checkVolumeAffinity(spec.NodeAffinity, c.path.Child("nodeAffinity"))...)
	}
	c.source(spec)
	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		c.add(field.Forbidden(c.path.Child("persistentVolumeReclaimPolicy"),
			"may not be 'recycle' for a hostPath mount of '/'"))
	}
	c.classAndMode(spec)
	return c.errs
}

func (c *volumeCheck) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *volumeCheck) require(name, message string) {
	c.add(field.Required(c.path.Child(name), message))
}

// forbid refuses a field that an inline volume does not have.
func (c *volumeCheck) forbid(set bool, name string) {
	if set {
		c.add(field.Forbidden(c.path.Child(name), "may not be specified in the context of inline volumes"))
	}
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
		c.add(checkPositive(quantity, at)...)
	}
}

// checkQuantity returns the error of a negative quantity.
func checkQuantity(quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	if quantity.Value() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, quantity.Value(), "must be a valid resource quantity")}
}

func checkPositive(quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	if quantity.Sign() > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, quantity.String(), "must be greater than zero")}
}

func (c *volumeCheck) reclaimPolicy(policy corev1.PersistentVolumeReclaimPolicy) {
	path := c.path.Child("persistentVolumeReclaimPolicy")
	switch {
	case policy == "":
	case !c.inline:
		c.add(resource.CheckSupported(path, policy, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	case policy != corev1.PersistentVolumeReclaimRetain:
		c.add(field.Forbidden(path, "may only be Retain in the context of inline volumes"))
	}
}

func (c *volumeCheck) classAndMode(spec *corev1.PersistentVolumeSpec) {
	if class := spec.StorageClassName; class != "" && c.inline {
		c.forbid(true, "storageClassName")
	} else if class != "" {
		c.add(resource.CheckName(c.path.Child("storageClassName"), class, apivalidation.NameIsDNSSubdomain)...)
	}
	if mode := spec.VolumeMode; mode != nil && !c.inline {
		c.add(checkVolumeMode(*mode, c.path.Child("volumeMode"))...)
	} else if mode != nil && *mode != corev1.PersistentVolumeFilesystem {
		c.add(field.Forbidden(c.path.Child("volumeMode"),
			"may not specify volumeMode other than Filesystem in the context of inline volumes"))
	}
	class := spec.VolumeAttributesClassName
	if class == nil || c.inline {
		return
	}
	if *class == "" {
		c.require("volumeAttributesClassName", "an empty string is disallowed")
	} else {
		c.add(resource.CheckName(c.path.Child("volumeAttributesClassName"), *class, apivalidation.NameIsDNSSubdomain)...)
	}
	if spec.CSI == nil {
		c.require("csi", "has to be specified when using volumeAttributesClassName")
	}
}

func checkVolumeMode(mode corev1.PersistentVolumeMode, path *field.Path) field.ErrorList {
	return resource.CheckSupported(path, mode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
}
