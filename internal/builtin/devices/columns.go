package devices

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var nameAndAge = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{resource.NameColumn, resource.AgeColumn},
	Cells: func(obj runtime.Object) []any {
		m := obj.(metav1.Object)
		return []any{m.GetName(), resource.Age(m)}
	},
}

var claimColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "State", Type: "string",
			Description: "A summary of the current state (allocated, pending, reserved, etc.).",
		},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		claim := obj.(*resourcev1.ResourceClaim)
		return []any{claim.Name, claimState(claim), resource.Age(claim)}
	},
}

func claimState(claim *resourcev1.ResourceClaim) string {
	var states []string
	if claim.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case claim.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(claim.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	case claim.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}

var sliceColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Node", Type: "string", Description: resourcev1.ResourceSliceSpec{}.SwaggerDoc()["nodeName"]},
		{Name: "Driver", Type: "string", Description: resourcev1.ResourceSliceSpec{}.SwaggerDoc()["driver"]},
		{Name: "Pool", Type: "string", Description: resourcev1.ResourcePool{}.SwaggerDoc()["name"]},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		s := obj.(*resourcev1.ResourceSlice)
		return []any{s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, resource.Age(s)}
	},
}

var taintDocs = resourcev1.DeviceTaint{}.SwaggerDoc()

var taintColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Key", Type: "string", Description: taintDocs["key"]},
		{Name: "Value", Type: "string", Description: taintDocs["value"]},
		{Name: "Effect", Type: "string", Description: taintDocs["effect"]},
		{Name: "TimeAdded", Type: "string", Description: taintDocs["timeAdded"]},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		rule := obj.(*resourcev1.DeviceTaintRule)
		taint, added := &rule.Spec.Taint, ""
		if taint.TimeAdded != nil {
			added = table.ConvertToHumanReadableDateType(*taint.TimeAdded)
		}
		return []any{rule.Name, taint.Key, taint.Value, string(taint.Effect), added, resource.Age(rule)}
	},
}
