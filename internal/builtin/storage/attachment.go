package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
		Strategy: attachmentRules.Rules(), Subresources: []resource.Subresource{attachmentRules.Status()},
	}
}

var attachmentRules = resource.Plain[*storagev1.VolumeAttachment]{Declared: []string{"spec"}, RequiresVersion: true}

var attachmentColumns = resource.Columns[*storagev1.VolumeAttachment]{
	{Name: "Attacher", Format: "name", Field: "spec.attacher"},
	{Name: "PV", Field: "spec.source.persistentVolumeName"},
	{Name: "Node", Field: "spec.nodeName"},
	{Name: "Attached", Type: "boolean", Field: "status.attached"},
	{Name: "Age"},
}
