package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func attachmentDefinition() *resource.Definition {
	return &resource.Definition{
		Object:  &storagev1.VolumeAttachment{},
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
			Name: "status", Resets: metadataAndSpec,
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
	return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

func checkAttachmentUpdate(obj, old *storagev1.VolumeAttachment) field.ErrorList {
	return append(checkAttachment(obj), resource.CheckConstant(field.NewPath("spec"), obj.Spec, old.Spec)...)
}

var attachmentColumns = resource.Columns[*storagev1.VolumeAttachment]{
	{Name: "Attacher", Format: "name", Field: "spec.attacher"},
	{Name: "PV", Field: "spec.source.persistentVolumeName"},
	{Name: "Node", Field: "spec.nodeName"},
	{Name: "Attached", Type: "boolean", Field: "status.attached"},
	{Name: "Age"},
}
