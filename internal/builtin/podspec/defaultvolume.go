package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// An hour is the lifetime of a projected token.
const tokenSeconds = 60 * 60

func defaultVolume(volume *corev1.Volume) {
	if ptr.AllPtrFieldsNil(&volume.VolumeSource) {
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch source := &volume.VolumeSource; {
	case source.Image != nil:
		setIfZero(&source.Image.PullPolicy, pullPolicy(source.Image.Reference))
	case source.HostPath != nil:
		resource.Default(&source.HostPath.Type, corev1.HostPathUnset)
	case source.Secret != nil:
		resource.Default(&source.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case source.ConfigMap != nil:
		resource.Default(&source.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case source.DownwardAPI != nil:
		resource.Default(&source.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownward(source.DownwardAPI.Items)
	case source.Projected != nil:
		defaultProjected(source.Projected)
	case source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate != nil:
		DefaultClaimSpec(&source.Ephemeral.VolumeClaimTemplate.Spec)
	default:
		defaultNetworkVolume(source)
	}
}

func defaultDownward(files []corev1.DownwardAPIVolumeFile) {
	for n := range files {
		if files[n].FieldRef != nil {
			setIfZero(&files[n].FieldRef.APIVersion, "v1")
		}
	}
}

func defaultProjected(projected *corev1.ProjectedVolumeSource) {
	resource.Default(&projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for n := range projected.Sources {
		if downward := projected.Sources[n].DownwardAPI; downward != nil {
			defaultDownward(downward.Items)
		}
		if token := projected.Sources[n].ServiceAccountToken; token != nil {
			resource.Default(&token.ExpirationSeconds, tokenSeconds)
		}
	}
}

// defaultNetworkVolume sets the defaults of volumes of single storage systems.
func defaultNetworkVolume(source *corev1.VolumeSource) {
	switch {
	case source.ISCSI != nil:
		setIfZero(&source.ISCSI.ISCSIInterface, "default")
	case source.RBD != nil:
		setIfZero(&source.RBD.RBDPool, "rbd")
		setIfZero(&source.RBD.RadosUser, "admin")
		setIfZero(&source.RBD.Keyring, "/etc/ceph/keyring")
	case source.AzureDisk != nil:
		resource.Default(&source.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		resource.Default(&source.AzureDisk.FSType, "ext4")
		resource.Default(&source.AzureDisk.ReadOnly, false)
		resource.Default(&source.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	case source.ScaleIO != nil:
		setIfZero(&source.ScaleIO.StorageMode, "ThinProvisioned")
		setIfZero(&source.ScaleIO.FSType, "xfs")
	}
}
