package storage

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func attachmentDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "VolumeAttachment", Plural: "volumeattachments",
		Singular: "volumeattachment", Object: &storagev1.VolumeAttachment{}, List: &storagev1.VolumeAttachmentList{},
		Columns: attachmentColumns, Resets: status, ReturnsDeleted: true,
		Default: func(obj runtime.Object) {
			if inline := obj.(*storagev1.VolumeAttachment).Spec.Source.InlineVolumeSpec; inline != nil {
				defaultVolumeSpec(inline)
			}
		},
		Strategy: resource.Typed[*storagev1.VolumeAttachment]{
			Prepare:       func(obj *storagev1.VolumeAttachment) { obj.Status = storagev1.VolumeAttachmentStatus{} },
			Check:         checkAttachment,
			PrepareUpdate: func(obj, old *storagev1.VolumeAttachment) { obj.Status = old.Status },
			CheckUpdate:   checkAttachmentUpdate,

			RequiresVersion: true,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Verbs: resource.SubresourceVerbs, Resets: metadataAndSpec,
			Strategy: resource.Typed[*storagev1.VolumeAttachment]{
				PrepareUpdate: func(obj, old *storagev1.VolumeAttachment) {
					obj.Spec = old.Spec
					metav1.ResetObjectMetaForStatus(&obj.ObjectMeta, &old.ObjectMeta)
				},
				CheckUpdate: checkAttachmentUpdate,

				RequiresVersion: true,
			},
		}},
	}
}

func checkAttachment(obj *storagev1.VolumeAttachment) field.ErrorList {
	errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	path, spec := field.NewPath("spec"), &obj.Spec
	errs = append(errs, checkAttacher(spec.Attacher, path.Child("attacher"))...)
	errs = append(errs, checkAttachedSource(&spec.Source, path.Child("source"))...)
	errs = append(errs, resource.CheckName(path.Child("nodeName"), spec.NodeName, apivalidation.NameIsDNSSubdomain)...)
	errs = append(errs, checkAttachmentStatus(&obj.Status, field.NewPath("status"))...)
	if name := spec.Source.PersistentVolumeName; name != nil {
		errs = append(errs, resource.CheckName(
			field.NewPath("spec.source.persistentVolumeName"), *name, apivalidation.NameIsDNSSubdomain)...)
	}
	return errs
}

func checkAttachmentUpdate(obj, old *storagev1.VolumeAttachment) field.ErrorList {
	return append(checkAttachment(obj), resource.CheckConstant(field.NewPath("spec"), obj.Spec, old.Spec)...)
}

func checkAttachedSource(source *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const oneOf = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	inline, name := source.InlineVolumeSpec, source.PersistentVolumeName
	switch {
	case inline == nil && name == nil:
		return field.ErrorList{field.Required(path, oneOf)}
	case inline != nil && name != nil:
		return field.ErrorList{field.Forbidden(path, oneOf)}
	case inline != nil:
		return (&volumeCheck{path: path.Child("inlineVolumeSpec"), inline: true}).run(inline)
	case *name == "":
		return field.ErrorList{
			field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName"),
		}
	}
	return nil
}

// Limits of a status.
const (
	maxAttachedBytes = 256 << 10
	maxErrorMessage  = 1024
)

func checkAttachmentStatus(status *storagev1.VolumeAttachmentStatus, path *field.Path) (errs field.ErrorList) {
	size := 0
	for key, value := range status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxAttachedBytes {
		errs = append(errs, field.TooLong(path.Child("attachmentMetadata"), "", maxAttachedBytes))
	}
	errs = append(errs, checkVolumeError(status.AttachError, path.Child("attachError"))...)
	return append(errs, checkVolumeError(status.DetachError, path.Child("detachError"))...)
}

func checkVolumeError(e *storagev1.VolumeError, path *field.Path) (errs field.ErrorList) {
	if e == nil {
		return nil
	}
	if len(e.Message) > maxErrorMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxErrorMessage))
	}
	if code := ptr.Deref(e.ErrorCode, 0); code < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), code, validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return errs
}

var attachmentColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "Attacher", Type: "string", Format: "name",
			Description: storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["attacher"],
		},
		resource.TextColumn("PV", storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"]),
		resource.TextColumn("Node", storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["nodeName"]),
		{Name: "Attached", Type: "boolean", Description: storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"]},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		attachment := obj.(*storagev1.VolumeAttachment)
		return []any{
			attachment.Name, attachment.Spec.Attacher, ptr.Deref(attachment.Spec.Source.PersistentVolumeName, ""),
			attachment.Spec.NodeName, attachment.Status.Attached, resource.Age(attachment),
		}
	},
}
