package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the package.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		claimDefinition(), volumeDefinition(),
		driverDefinition(), nodeDefinition(), capacityDefinition(), classDefinition(), attachmentDefinition(),
		attributesClassDefinition(),
	}
}

// unset is the cell of a value that is not there.
const unset = "<unset>"

func attachmentDefinition() *resource.Definition {
	return &resource.Definition{
		Object:  &storagev1.VolumeAttachment{},
		Columns: attachmentColumns, ReturnsDeleted: true,
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

func capacityDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.CSIStorageCapacity{}, Namespaced: true,
		Strategy: resource.Plain[*storagev1.CSIStorageCapacity]{
			Constant: []string{"nodeTopology", "storageClassName"}, RequiresVersion: true,
		}.Rules(),
	}
}
