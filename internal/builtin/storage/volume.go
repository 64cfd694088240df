package storage

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func volumeDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.PersistentVolume{}, ShortNames: []string{"pv"},
		Default: defaultVolume, Columns: volumeColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*corev1.PersistentVolume]{
			Prepare: func(obj *corev1.PersistentVolume) {
				now := metav1.Now()
				obj.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
			},
			Check:         checkVolume,
			Warn:          volumeWarnings,
			PrepareUpdate: func(obj, old *corev1.PersistentVolume) { obj.Status = old.Status },
			CheckUpdate: func(obj, old *corev1.PersistentVolume) field.ErrorList {
				return append(checkVolume(obj), checkVolumeUpdate(obj, old)...)
			},
			WarnUpdate: func(obj, _ *corev1.PersistentVolume) []string { return volumeWarnings(obj) },
		},
		Subresources: []resource.Subresource{{
			Name: "status",
			Strategy: resource.Typed[*corev1.PersistentVolume]{
				PrepareUpdate: prepareVolumeStatus,
				CheckUpdate: func(obj, old *corev1.PersistentVolume) field.ErrorList {
					return resource.CheckMetadataUpdate(obj, old)
				},
			},
		}},
	}
}

func defaultVolume(obj runtime.Object) {
	volume := obj.(*corev1.PersistentVolume)
	volume.Status.Phase = cmp.Or(volume.Status.Phase, corev1.VolumePending)
	spec := &volume.Spec
	spec.PersistentVolumeReclaimPolicy = cmp.Or(
		spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	resource.Default(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	defaultVolumeSpec(spec)
}

// prepareVolumeStatus keeps everything but the status, and records when the phase has changed.
func prepareVolumeStatus(obj, old *corev1.PersistentVolume) {
	obj.Spec = old.Spec
	after, before := &obj.Status, &old.Status
	after.LastPhaseTransitionTime = cmp.Or(after.LastPhaseTransitionTime, before.LastPhaseTransitionTime)
	if after.Phase != before.Phase && after.LastPhaseTransitionTime.Equal(before.LastPhaseTransitionTime) {
		after.LastPhaseTransitionTime = new(metav1.Now())
	}
}

func checkVolume(obj *corev1.PersistentVolume) field.ErrorList {
	return append(resource.CheckClusterMetadata(obj, apivalidation.NameIsDNSSubdomain),
		checkVolumeSpec(&obj.Spec, field.NewPath("spec"))...)
}

func checkVolumeUpdate(obj, old *corev1.PersistentVolume) (errs field.ErrorList) {
	after, before := obj.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource
	if before.CSI != nil && after.CSI != nil && before.CSI.ControllerExpandSecretRef == nil { // it may be added
		after.CSI = after.CSI.DeepCopy()
		after.CSI.ControllerExpandSecretRef = nil
	}
	if !apiequality.Semantic.DeepEqual(after, before) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
			"spec.persistentvolumesource is immutable after creation"+changes(before, after)))
	}
	errs = append(errs, apivalidation.ValidateImmutableField(
		obj.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	affinity := old.Spec.NodeAffinity
	if affinity != nil && !apiequality.Semantic.DeepEqual(obj.Spec.NodeAffinity, affinity) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), obj.Spec.NodeAffinity,
			apivalidation.FieldImmutableErrorMsg+", except for updating from beta label to GA"))
	}
	if old.Spec.VolumeAttributesClassName != nil && obj.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "volumeAttributesClassName"),
			"update from non-nil value to nil is forbidden"))
	}
	return errs
}

// changes returns the lines of an error that show what an update changes.
func changes(before, after any) string { return "\n" + diff.Diff(before, after) }

// Annotations of the time before there were fields for this.
const (
	classAnnotation   = corev1.BetaStorageClassAnnotation
	optionsAnnotation = corev1.MountOptionAnnotation
)

func volumeWarnings(obj *corev1.PersistentVolume) (warnings []string) {
	warn := func(is bool, text string) {
		if is {
			warnings = append(warnings, text)
		}
	}
	_, class := obj.Annotations[classAnnotation]
	_, options := obj.Annotations[optionsAnnotation]
	s := &obj.Spec
	annotation := func(name string) string { return "metadata.annotations[" + name + "]: deprecated since " }
	warn(class, annotation(classAnnotation)+`v1.8; use "storageClassName" attribute instead`)
	warn(options, annotation(optionsAnnotation)+`v1.31; use "mountOptions" attribute instead`)
	warn(s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle, "spec.persistentVolumeReclaimPolicy: "+
		"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	return warnings
}

var volumeColumns = resource.Columns[*corev1.PersistentVolume]{
	{Name: "Capacity", Field: "spec.capacity", Cell: func(volume *corev1.PersistentVolume) any {
		return volume.Spec.Capacity.Storage().String()
	}},
	{Name: "Access Modes", Field: "spec.accessModes", Cell: func(volume *corev1.PersistentVolume) any {
		return accessModesCell(volume.Spec.AccessModes)
	}},
	{Name: "Reclaim Policy", Field: "spec.persistentVolumeReclaimPolicy"},
	{Name: "Status", Field: "status.phase", Cell: func(volume *corev1.PersistentVolume) any {
		if volume.DeletionTimestamp != nil {
			return "Terminating"
		}
		return string(volume.Status.Phase)
	}},
	{Name: "Claim", Field: "spec.claimRef", Cell: func(volume *corev1.PersistentVolume) any {
		if volume.Spec.ClaimRef == nil {
			return ""
		}
		return volume.Spec.ClaimRef.Namespace + "/" + volume.Spec.ClaimRef.Name
	}},
	{Name: "StorageClass", Doc: "StorageClass of the pv", Cell: func(volume *corev1.PersistentVolume) any {
		if class, found := volume.Annotations[classAnnotation]; found {
			return class
		}
		return volume.Spec.StorageClassName
	}},
	{Name: "VolumeAttributesClass", Field: "spec.volumeAttributesClassName", Empty: unset,
		Doc: "VolumeAttributesClass of the pv"},
	{Name: "Reason", Field: "status.reason"},
	{Name: "Age"},
	{Name: "VolumeMode", Wide: true, Field: "spec.volumeMode", Empty: unset},
}
