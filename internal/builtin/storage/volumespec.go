package storage

import (
	"cmp"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// defaultVolumeSpec sets the defaults of a volume that those in a VolumeAttachment have too.
func defaultVolumeSpec(spec *corev1.PersistentVolumeSpec) {
	podspec.DefaultQuantities(spec.Capacity)
	if hostPath := spec.HostPath; hostPath != nil {
		resource.Default(&hostPath.Type, corev1.HostPathUnset)
	}
	if rbd := spec.RBD; rbd != nil {
		rbd.RBDPool = cmp.Or(rbd.RBDPool, "rbd")
		rbd.RadosUser = cmp.Or(rbd.RadosUser, "admin")
		rbd.Keyring = cmp.Or(rbd.Keyring, "/etc/ceph/keyring")
	}
	if iscsi := spec.ISCSI; iscsi != nil {
		iscsi.ISCSIInterface = cmp.Or(iscsi.ISCSIInterface, "default")
	}
	if scaleIO := spec.ScaleIO; scaleIO != nil {
		scaleIO.StorageMode = cmp.Or(scaleIO.StorageMode, "ThinProvisioned")
		scaleIO.FSType = cmp.Or(scaleIO.FSType, "xfs")
	}
	if disk := spec.AzureDisk; disk != nil {
		resource.Default(&disk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		resource.Default(&disk.FSType, "ext4")
		resource.Default(&disk.ReadOnly, false)
		resource.Default(&disk.Kind, corev1.AzureSharedBlobDisk)
	}
}

// checkVolumeSpec returns the errors of the spec of a volume.
func checkVolumeSpec(spec *corev1.PersistentVolumeSpec, at *field.Path) field.ErrorList {
	reclaim := at.Child("persistentVolumeReclaimPolicy")
	recyclesRoot := spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle
	return slices.Concat(
		rules.When(len(spec.AccessModes) == 0, field.Required(at.Child("accessModes"), "")),
		podspec.CheckAccessModes(spec.AccessModes, at.Child("accessModes")),
		checkCapacity(spec.Capacity, at.Child("capacity")),
		rules.Known(spec.PersistentVolumeReclaimPolicy, reclaim, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain),
		rules.Optional(spec.NodeAffinity, at.Child("nodeAffinity"), checkVolumeAffinity),
		checkVolumeSource(spec, at),
		rules.When(recyclesRoot, field.Forbidden(reclaim, "may not be 'recycle' for a hostPath mount of '/'")),
		rules.Name(spec.StorageClassName, at.Child("storageClassName"), apivalidation.NameIsDNSSubdomain),
		rules.Known(ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeFilesystem), at.Child("volumeMode"),
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
		checkAttributesClassOf(spec, at),
	)
}

func checkCapacity(list corev1.ResourceList, path *field.Path) field.ErrorList {
	_, found := list[corev1.ResourceStorage]
	errs := append(rules.When(len(list) == 0, field.Required(path, "")),
		rules.When(!found || len(list) > 1,
			field.NotSupported(path, list, []corev1.ResourceName{corev1.ResourceStorage}))...)
	for name, quantity := range list {
		at := path.Key(string(name))
		errs = append(errs, checkQuantity(quantity, at)...)
		errs = append(errs, rules.When(quantity.Sign() <= 0,
			field.Invalid(at, quantity.String(), "must be greater than zero"))...)
	}
	return errs
}

// checkQuantity returns the error of a negative quantity.
func checkQuantity(quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	return rules.When(quantity.Value() < 0,
		field.Invalid(path, quantity.Value(), "must be a valid resource quantity"))
}

func checkAttributesClassOf(spec *corev1.PersistentVolumeSpec, path *field.Path) field.ErrorList {
	class, at := spec.VolumeAttributesClassName, path.Child("volumeAttributesClassName")
	if class == nil {
		return nil
	}
	return slices.Concat(
		rules.When(*class == "", field.Required(at, "an empty string is disallowed")),
		rules.Name(*class, at, apivalidation.NameIsDNSSubdomain),
		rules.When(spec.CSI == nil,
			field.Required(path.Child("csi"), "has to be specified when using volumeAttributesClassName")),
	)
}
