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
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func volumeDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "PersistentVolume", Plural: "persistentvolumes",
		Singular: "persistentvolume", ShortNames: []string{"pv"},
		Object: &corev1.PersistentVolume{}, List: &corev1.PersistentVolumeList{},
		Default: defaultVolume, Columns: volumeColumns, Resets: status, ReturnsDeleted: true,
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
			Name: "status", Verbs: resource.SubresourceVerbs, Resets: spec,
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

var volumeColumns = &resource.Columns{Definitions: volumeColumnDefinitions(), Cells: volumeCells}

func volumeColumnDefinitions() []metav1.TableColumnDefinition {
	fields, statusFields := corev1.PersistentVolumeSpec{}.SwaggerDoc(), corev1.PersistentVolumeStatus{}.SwaggerDoc()
	mode := resource.TextColumn("VolumeMode", fields["volumeMode"])
	mode.Priority = 1
	return []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Capacity", fields["capacity"]),
		resource.TextColumn("Access Modes", fields["accessModes"]),
		resource.TextColumn("Reclaim Policy", fields["persistentVolumeReclaimPolicy"]),
		resource.TextColumn("Status", statusFields["phase"]),
		resource.TextColumn("Claim", fields["claimRef"]),
		resource.TextColumn("StorageClass", "StorageClass of the pv"),
		resource.TextColumn("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		resource.TextColumn("Reason", statusFields["reason"]),
		resource.AgeColumn,
		mode,
	}
}

func volumeCells(obj runtime.Object) []any {
	volume := obj.(*corev1.PersistentVolume)
	spec, claim, phase := &volume.Spec, "", string(volume.Status.Phase)
	if spec.ClaimRef != nil {
		claim = spec.ClaimRef.Namespace + "/" + spec.ClaimRef.Name
	}
	if volume.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	class, found := volume.Annotations[classAnnotation]
	if !found {
		class = spec.StorageClassName
	}
	return []any{
		volume.Name, spec.Capacity.Storage().String(), accessModesCell(spec.AccessModes),
		string(spec.PersistentVolumeReclaimPolicy), phase, claim, class,
		ptr.Deref(spec.VolumeAttributesClassName, unset), volume.Status.Reason, resource.Age(volume),
		string(ptr.Deref(spec.VolumeMode, unset)),
	}
}
