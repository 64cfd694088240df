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
			Strategy: schemaRules, Default: defaultSchema, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(schemaStatusRules)}, Columns: schemaColumns,
		},
		{
			Object:   &flowcontrolv1.PriorityLevelConfiguration{},
			Strategy: levelRules, Default: defaultLevel, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(levelStatusRules)}, Columns: levelColumns,
			Upgrade: upgradeLevel,
		},
	}
}

func statusOf(strategy resource.Strategy) resource.Subresource {
	return resource.Subresource{
		Name: "status", Strategy: strategy, Resets: []string{"metadata", "spec"},
	}
}
