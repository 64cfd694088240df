package storage

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// source is one of the kinds of volumes.
type source struct {
	name string
	set  bool
	// check returns what is wrong with it; nil if nothing is checked.
	check func(path *field.Path) field.ErrorList
}

// sourcesOf returns all kinds of volumes, in the order in which they are checked.
func sourcesOf(spec *corev1.PersistentVolumeSpec) []source {
	return []source{
		{"hostPath", spec.HostPath != nil,
			func(path *field.Path) field.ErrorList { return podspec.CheckHostPath(spec.HostPath, path) }},
		{"gcePersistentDisk", spec.GCEPersistentDisk != nil, nil},
		{"awsElasticBlockStore", spec.AWSElasticBlockStore != nil, nil},
		{"glusterfs", spec.Glusterfs != nil, nil},
		{"flocker", spec.Flocker != nil, nil},
		{"nfs", spec.NFS != nil, func(path *field.Path) field.ErrorList { return podspec.CheckNFS(spec.NFS, path) }},
		{"rbd", spec.RBD != nil, nil},
		{"quobyte", spec.Quobyte != nil, nil},
		{"cephFS", spec.CephFS != nil, nil},
		{"iscsi", spec.ISCSI != nil, nil},
		{"cinder", spec.Cinder != nil, nil},
		{"fc", spec.FC != nil, nil},
		{"flexVolume", spec.FlexVolume != nil, nil},
		{"azureFile", spec.AzureFile != nil, nil},
		{"vsphereVolume", spec.VsphereVolume != nil, nil},
		{"photonPersistentDisk", spec.PhotonPersistentDisk != nil, nil},
		{"portworxVolume", spec.PortworxVolume != nil, nil},
		{"azureDisk", spec.AzureDisk != nil, nil},
		{"scaleIO", spec.ScaleIO != nil, nil},
		{"local", spec.Local != nil, func(path *field.Path) field.ErrorList { return checkLocal(spec.Local, path) }},
		{"storageos", spec.StorageOS != nil, nil},
		{"csi", spec.CSI != nil, func(path *field.Path) field.ErrorList { return checkCSI(spec.CSI, path) }},
	}
}

// source checks that a volume has one kind, and that one.
func (c *volumeCheck) source(spec *corev1.PersistentVolumeSpec) {
	found := false
	for _, s := range sourcesOf(spec) {
		switch {
		case !s.set:
			continue
		case found && s.name != "flexVolume":
			c.add(field.Forbidden(c.path.Child(s.name), "may not specify more than 1 volume type"))
		case s.check != nil:
			c.add(s.check(c.path.Child(s.name))...)
		}
		if s.name == "local" && !found && spec.NodeAffinity == nil {
			c.require("nodeAffinity", "Local volume requires node affinity")
		}
		found = true
	}
	if !found {
		c.add(field.Required(c.path, "must specify a volume type"))
	}
}

func checkLocal(local *corev1.LocalVolumeSource, path *field.Path) field.ErrorList {
	if local.Path == "" {
		return field.ErrorList{field.Required(path.Child("path"), "")}
	}
	return podspec.CheckNoBacksteps(local.Path, path.Child("path"))
}

func checkCSI(csi *corev1.CSIPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := podspec.CheckDriverName(csi.Driver, path.Child("driver"))
	if csi.VolumeHandle == "" {
		errs = append(errs, field.Required(path.Child("volumeHandle"), ""))
	}
	errs = append(errs, checkSecretReference(csi.ControllerPublishSecretRef, path.Child("controllerPublishSecretRef"))...)
	errs = append(errs, checkSecretReference(csi.ControllerExpandSecretRef, path.Child("controllerExpandSecretRef"))...)
	errs = append(errs, checkSecretReference(csi.NodePublishSecretRef, path.Child("nodePublishSecretRef"))...)
	return append(errs, checkSecretReference(csi.NodeExpandSecretRef, path.Child("nodeExpandSecretRef"))...)
}

func checkSecretReference(ref *corev1.SecretReference, path *field.Path) (errs field.ErrorList) {
	if ref == nil {
		return nil
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, rules.Messages(path.Child("name"), ref.Name, validation.IsDNS1123Subdomain(ref.Name))...)
	}
	if ref.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), ""))
	}
	return append(errs, rules.Messages(path.Child("namespace"), ref.Namespace,
		validation.IsDNS1123Label(ref.Namespace))...)
}

// checkVolumeAffinity returns the errors of the nodes that a volume is on.
func checkVolumeAffinity(affinity *corev1.VolumeNodeAffinity, path *field.Path) (errs field.ErrorList) {
	path = path.Child("required")
	if affinity.Required == nil {
		return field.ErrorList{field.Required(path, "must specify required node constraints")}
	}
	terms := path.Child("nodeSelectorTerms")
	if len(affinity.Required.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	for n, term := range affinity.Required.NodeSelectorTerms {
		for m := range term.MatchExpressions {
			at := terms.Index(n).Child("matchExpressions").Index(m)
			errs = append(errs, podspec.CheckNodeRequirement(&term.MatchExpressions[m], true, at)...)
		}
	}
	return errs
}
