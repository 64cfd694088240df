package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
		Strategy: attachmentRules.Rules(), Subresources: []resource.Subresource{attachmentRules.Status()},
	}
}

var attachmentRules = resource.Plain[*storagev1.VolumeAttachment]{Declared: []string{"spec"}, RequiresVersion: true}

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
