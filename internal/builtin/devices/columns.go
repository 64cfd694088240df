package devices

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var claimColumns = resource.Columns[*resourcev1.ResourceClaim]{
	{Name: "State", Doc: "A summary of the current state (allocated, pending, reserved, etc.).", Cell: claimState},
	{Name: "Age"},
}

func claimState(claim *resourcev1.ResourceClaim) any {
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

var sliceColumns = resource.Columns[*resourcev1.ResourceSlice]{
	{Name: "Node", Field: "spec.nodeName"},
	{Name: "Driver", Field: "spec.driver"},
	{Name: "Pool", Field: "spec.pool.name"},
	{Name: "Age"},
}

var taintColumns = resource.Columns[*resourcev1.DeviceTaintRule]{
	{Name: "Key", Field: "spec.taint.key"},
	{Name: "Value", Field: "spec.taint.value"},
	{Name: "Effect", Field: "spec.taint.effect"},
	{Name: "TimeAdded", Field: "spec.taint.timeAdded"},
	{Name: "Age"},
}
