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
			Strategy: schemaRules.Rules(), Default: defaultSchema, Resets: []string{"status"},
			Subresources: []resource.Subresource{schemaRules.Status()}, Columns: schemaColumns,
		},
		{
			GroupVersion: flowcontrolv1.SchemeGroupVersion, Kind: "PriorityLevelConfiguration",
			Plural: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration",
			Object: &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
			Strategy: levelRules.Rules(), Default: defaultLevel, Resets: []string{"status"},
			Subresources: []resource.Subresource{levelRules.Status()}, Columns: levelColumns,
			Upgrade: upgradeLevel,
		},
	}
}
