package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: flowcontrolv1.SchemeGroupVersion, Kind: "FlowSchema", Plural: "flowschemas", Singular: "flowschema",
			Object: &flowcontrolv1.FlowSchema{}, List: &flowcontrolv1.FlowSchemaList{},
			Strategy: schemaRules, Default: defaultSchema, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(schemaStatusRules)}, Columns: schemaColumns,
		},
		{
			GroupVersion: flowcontrolv1.SchemeGroupVersion, Kind: "PriorityLevelConfiguration",
			Plural: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration",
			Object: &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
			Strategy: levelRules, Default: defaultLevel, Resets: []string{"status"},
			Subresources: []resource.Subresource{statusOf(levelStatusRules)}, Columns: levelColumns,
			Upgrade: upgradeLevel,
		},
	}
}

func statusOf(strategy resource.Strategy) resource.Subresource {
	return resource.Subresource{
		Name: "status", Verbs: resource.SubresourceVerbs, Strategy: strategy, Resets: []string{"metadata", "spec"},
	}
}
