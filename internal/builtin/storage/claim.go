package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	volumehelper "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func claimDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.PersistentVolumeClaim{}, ShortNames: []string{"pvc"}, Namespaced: true,
		Default: defaultClaim, Columns: claimColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*corev1.PersistentVolumeClaim]{
			Prepare: func(obj *corev1.PersistentVolumeClaim) {
				obj.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
				prepareDataSource(&obj.Spec, nil)
			},
			Check:         checkClaim,
			Warn:          claimWarnings,
			PrepareUpdate: prepareClaimUpdate,
			CheckUpdate:   checkClaimUpdate,
			WarnUpdate:    func(obj, _ *corev1.PersistentVolumeClaim) []string { return claimWarnings(obj) },
		},
		Subresources: []resource.Subresource{{
			Name: "status",
			Strategy: resource.Typed[*corev1.PersistentVolumeClaim]{
				PrepareUpdate: prepareClaimStatus, CheckUpdate: checkClaimStatus,
			},
		}},
	}
}

func defaultClaim(obj runtime.Object) {
	claim := obj.(*corev1.PersistentVolumeClaim)
	claim.Status.Phase = cmp.Or(claim.Status.Phase, corev1.ClaimPending)
	podspec.DefaultClaimSpec(&claim.Spec)
	podspec.DefaultQuantities(claim.Status.Capacity)
	podspec.DefaultQuantities(claim.Status.AllocatedResources)
}

func prepareClaimUpdate(obj, old *corev1.PersistentVolumeClaim) {
	obj.Status = old.Status
	prepareDataSource(&obj.Spec, &old.Spec)
	copyDataSource(&old.Spec)
}

// prepareClaimStatus keeps everything but the status. It drops the health of the volume, a feature that is off.
func prepareClaimStatus(obj, old *corev1.PersistentVolumeClaim) {
	obj.Spec = old.Spec
	if old.Status.HealthStatus == nil {
		obj.Status.HealthStatus = nil
	}
}

// snapshotGroup is the group of snapshots of volumes.
const snapshotGroup = "snapshot.storage.k8s.io"

// prepareDataSource drops the source of data that a claim cannot have: that in another namespace, which is a feature
// that is off, and anything but a claim or a snapshot in the old field. Then it makes the two fields equal.
func prepareDataSource(spec, old *corev1.PersistentVolumeClaimSpec) {
	ref, hadRef := spec.DataSourceRef, old != nil && old.DataSourceRef != nil
	if ref != nil && ptr.Deref(ref.Namespace, "") != "" && !hadRef {
		spec.DataSourceRef = nil
	}
	had := old != nil && (old.DataSource != nil || old.DataSourceRef != nil)
	if source := spec.DataSource; !had && spec.DataSourceRef == nil && source != nil {
		group := ptr.Deref(source.APIGroup, "")
		isClaim := source.Kind == claimKind && group == ""
		if !isClaim && (source.Kind != "VolumeSnapshot" || group != snapshotGroup) {
			spec.DataSource = nil
		}
	}
	copyDataSource(spec)
}

// copyDataSource copies the source of data from one of its two fields to the other, if that is not set.
func copyDataSource(spec *corev1.PersistentVolumeClaimSpec) {
	source, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case source != nil && ref == nil:
		spec.DataSourceRef = new(referenceTo(source))
	case source == nil && ref != nil && ptr.Deref(ref.Namespace, "") == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

func referenceTo(source *corev1.TypedLocalObjectReference) corev1.TypedObjectReference {
	return corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
}

func claimWarnings(obj *corev1.PersistentVolumeClaim) (warnings []string) {
	if _, found := obj.Annotations[classAnnotation]; found {
		path := field.NewPath("metadata", "annotations").Key(classAnnotation)
		warnings = append(warnings,
			fmt.Sprintf(`%s: deprecated since v1.8; use "storageClassName" attribute instead`, path))
	}
	path := field.NewPath("spec", "resources")
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", obj.Spec.Resources.Requests}, {"limits", obj.Spec.Resources.Limits}} {
		if storage := part.list.Storage(); storage.MilliValue()%1000 != 0 {
			warnings = append(warnings, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer",
				path.Child(part.name).Key(string(corev1.ResourceStorage)), storage.String()))
		}
	}
	return warnings
}

var claimColumns = resource.Columns[*corev1.PersistentVolumeClaim]{
	{Name: "Status", Field: "status.phase", Cell: func(claim *corev1.PersistentVolumeClaim) any {
		if claim.DeletionTimestamp != nil {
			return "Terminating"
		}
		return string(claim.Status.Phase)
	}},
	{Name: "Volume", Field: "spec.volumeName"},
	{Name: "Capacity", Field: "status.capacity", Cell: func(claim *corev1.PersistentVolumeClaim) any {
		if claim.Spec.VolumeName == "" {
			return ""
		}
		return claim.Status.Capacity.Storage().String()
	}},
	{Name: "Access Modes", Field: "status.accessModes", Cell: func(claim *corev1.PersistentVolumeClaim) any {
		if claim.Spec.VolumeName == "" {
			return ""
		}
		return accessModesCell(claim.Status.AccessModes)
	}},
	{Name: "StorageClass", Doc: "StorageClass of the pvc", Cell: func(claim *corev1.PersistentVolumeClaim) any {
		return volumehelper.GetPersistentVolumeClaimClass(claim)
	}},
	{Name: "VolumeAttributesClass", Field: "spec.volumeAttributesClassName", Empty: unset,
		Doc: "VolumeAttributesClass of the pvc"},
	{Name: "Age"},
	{Name: "VolumeMode", Wide: true, Field: "spec.volumeMode", Empty: unset},
}

// accessModesCell returns the abbreviations of access modes.
func accessModesCell(modes []corev1.PersistentVolumeAccessMode) string {
	var cell []string
	for _, known := range []struct {
		mode         corev1.PersistentVolumeAccessMode
		abbreviation string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, known.mode) {
			cell = append(cell, known.abbreviation)
		}
	}
	return strings.Join(cell, ",")
}
