package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object:   &flowcontrolv1.FlowSchema{},
			Strategy: schemaRules.Rules(), Default: defaultSchema, Resets: []string{"status"},
			Subresources: []resource.Subresource{schemaRules.Status()}, Columns: schemaColumns,
		},
		{
			Object:   &flowcontrolv1.PriorityLevelConfiguration{},
			Strategy: levelRules.Rules(), Default: defaultLevel, Resets: []string{"status"},
			Subresources: []resource.Subresource{levelRules.Status()}, Columns: levelColumns,
			Upgrade: upgradeLevel,
		},
	}
}
