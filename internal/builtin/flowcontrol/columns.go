package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const none = "<none>"

var (
	schemaDocs  = flowcontrolv1.FlowSchemaSpec{}.SwaggerDoc()
	queuingDocs = flowcontrolv1.QueuingConfiguration{}.SwaggerDoc()
)

var schemaColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "PriorityLevel", Type: "string",
			Description: flowcontrolv1.PriorityLevelConfigurationReference{}.SwaggerDoc()["name"],
		},
		{Name: "MatchingPrecedence", Type: "string", Description: schemaDocs["matchingPrecedence"]},
		{Name: "DistinguisherMethod", Type: "string", Description: schemaDocs["distinguisherMethod"]},
		resource.AgeColumn,
		{
			Name: "MissingPL", Type: "string",
			Description: "references a broken or non-existent PriorityLevelConfiguration",
		},
	},
	Cells: func(obj runtime.Object) []any {
		s := obj.(*flowcontrolv1.FlowSchema)
		method := none
		if s.Spec.DistinguisherMethod != nil {
			method = string(s.Spec.DistinguisherMethod.Type)
		}
		dangling := "?"
		for n := range s.Status.Conditions {
			if c := &s.Status.Conditions[n]; c.Type == flowcontrolv1.FlowSchemaConditionDangling {
				dangling = string(c.Status)
				break
			}
		}
		return []any{
			s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), method, resource.Age(s), dangling,
		}
	},
}

var levelColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "Type", Type: "string",
			Description: flowcontrolv1.PriorityLevelConfigurationSpec{}.SwaggerDoc()["type"],
		},
		{
			Name: "NominalConcurrencyShares", Type: "string",
			Description: flowcontrolv1.LimitedPriorityLevelConfiguration{}.SwaggerDoc()["nominalConcurrencyShares"],
		},
		{Name: "Queues", Type: "string", Description: queuingDocs["queues"]},
		{Name: "HandSize", Type: "string", Description: queuingDocs["handSize"]},
		{Name: "QueueLengthLimit", Type: "string", Description: queuingDocs["queueLengthLimit"]},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		l := obj.(*flowcontrolv1.PriorityLevelConfiguration)
		cells := []any{l.Name, string(l.Spec.Type), none, none, none, none, resource.Age(l)}
		if limited := l.Spec.Limited; limited != nil {
			cells[2] = int64(ptr.Deref(limited.NominalConcurrencyShares, 0))
			if q := limited.LimitResponse.Queuing; q != nil {
				cells[3], cells[4], cells[5] = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
			}
		}
		return cells
	},
}
