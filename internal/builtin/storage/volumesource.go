package storage

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// sources are the fields of volumes, in the order and with the names of kube-apiserver's errors.
var sources = []string{
	"hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephFS",
	"iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
	"azureDisk", "scaleIO", "local", "storageos", "csi",
}

// checkVolumeSource checks that a volume has one source, and that one.
func checkVolumeSource(spec *corev1.PersistentVolumeSpec, path *field.Path) (errs field.ErrorList) {
	source := reflect.ValueOf(spec.PersistentVolumeSource)
	names := slices.DeleteFunc(slices.Clone(sources), func(name string) bool {
		isNamed := func(field string) bool { return strings.EqualFold(field, name) }
		return source.FieldByNameFunc(isNamed).IsNil()
	})
	if len(names) == 0 {
		return field.ErrorList{field.Required(path, "must specify a volume type")}
	}
	switch at := path.Child(names[0]); names[0] {
	case "hostPath":
		errs = podspec.CheckHostPath(spec.HostPath, at)
	case "nfs":
		errs = podspec.CheckNFS(spec.NFS, at)
	case "csi":
		errs = checkCSI(spec.CSI, at)
	case "local":
		errs = rules.Required(spec.Local.Path, at.Child("path"))
		errs = append(errs, podspec.CheckNoBacksteps(spec.Local.Path, at.Child("path"))...)
		errs = append(errs, rules.When(spec.NodeAffinity == nil,
			field.Required(path.Child("nodeAffinity"), "Local volume requires node affinity"))...)
	}
	for _, name := range names[1:] {
		errs = append(errs, rules.When(name != "flexVolume", // which kube-apiserver allows
			field.Forbidden(path.Child(name), "may not specify more than 1 volume type"))...)
	}
	return errs
}

func checkCSI(csi *corev1.CSIPersistentVolumeSource, path *field.Path) field.ErrorList {
	return slices.Concat(
		podspec.CheckDriverName(csi.Driver, path.Child("driver")),
		rules.Required(csi.VolumeHandle, path.Child("volumeHandle")),
		rules.Optional(csi.ControllerPublishSecretRef, path.Child("controllerPublishSecretRef"), checkSecretReference),
		rules.Optional(csi.ControllerExpandSecretRef, path.Child("controllerExpandSecretRef"), checkSecretReference),
		rules.Optional(csi.NodePublishSecretRef, path.Child("nodePublishSecretRef"), checkSecretReference),
		rules.Optional(csi.NodeExpandSecretRef, path.Child("nodeExpandSecretRef"), checkSecretReference),
	)
}

func checkSecretReference(ref corev1.SecretReference, path *field.Path) field.ErrorList {
	return append(rules.RequiredName(ref.Name, path.Child("name"), apivalidation.NameIsDNSSubdomain),
		rules.RequiredLabel(ref.Namespace, path.Child("namespace"))...)
}

// checkVolumeAffinity returns the errors of the nodes that a volume is on.
func checkVolumeAffinity(affinity corev1.VolumeNodeAffinity, path *field.Path) field.ErrorList {
	path = path.Child("required")
	if affinity.Required == nil {
		return field.ErrorList{field.Required(path, "must specify required node constraints")}
	}
	return podspec.CheckNodeSelector(affinity.Required, path)
}
