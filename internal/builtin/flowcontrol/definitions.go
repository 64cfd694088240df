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
			Strategy: schemaRules.Rules(), Default: defaultSchema,
			Subresources: []resource.Subresource{schemaRules.Status()}, Columns: schemaColumns,
		},
		{
			Object:   &flowcontrolv1.PriorityLevelConfiguration{},
			Strategy: levelRules.Rules(), Default: defaultLevel,
			Subresources: []resource.Subresource{levelRules.Status()}, Columns: levelColumns,
			Upgrade: upgradeLevel,
		},
	}
}

const none = "<none>"

var schemaColumns = resource.Columns[*flowcontrolv1.FlowSchema]{
	{Name: "PriorityLevel", Field: "spec.priorityLevelConfiguration.name"},
	{Name: "MatchingPrecedence", Field: "spec.matchingPrecedence"},
	{Name: "DistinguisherMethod", Field: "spec.distinguisherMethod", Cell: func(s *flowcontrolv1.FlowSchema) any {
		if s.Spec.DistinguisherMethod == nil {
			return none
		}
		return string(s.Spec.DistinguisherMethod.Type)
	}},
	{Name: "Age"},
	{Name: "MissingPL", Doc: "references a broken or non-existent PriorityLevelConfiguration", Cell: danglingCell},
}

func danglingCell(s *flowcontrolv1.FlowSchema) any {
	for n := range s.Status.Conditions {
		if c := &s.Status.Conditions[n]; c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			return string(c.Status)
		}
	}
	return "?"
}

var levelColumns = resource.Columns[*flowcontrolv1.PriorityLevelConfiguration]{
	{Name: "Type", Field: "spec.type"},
	{Name: "NominalConcurrencyShares", Field: "spec.limited.nominalConcurrencyShares", Empty: none},
	{Name: "Queues", Field: "spec.limited.limitResponse.queuing.queues", Empty: none},
	{Name: "HandSize", Field: "spec.limited.limitResponse.queuing.handSize", Empty: none},
	{Name: "QueueLengthLimit", Field: "spec.limited.limitResponse.queuing.queueLengthLimit", Empty: none},
	{Name: "Age"},
}
