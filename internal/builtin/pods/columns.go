package pods

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var podColumns = resource.Converted[*summary]{Convert: summarize, Columns: resource.Columns[*summary]{
	{Name: "Name", Format: "name", Field: "pod.metadata.name"},
	{Name: "Ready", Doc: "The aggregate readiness state of this pod for accepting traffic.", Cell: func(s *summary) any {
		return fmt.Sprintf("%d/%d", s.ready, s.containers)
	}},
	{Name: "Status", Doc: "The aggregate status of the containers in this pod.", Cell: func(s *summary) any {
		return s.reason
	}},
	{Name: "Restarts", Cell: restartCell, Doc: "The number of times the containers in this pod have been restarted and " +
		"when the last container in this pod has restarted."},
	{Name: "Age", Field: "pod.metadata.creationTimestamp"},
	{Name: "IP", Wide: true, Field: "pod.status.podIP", Cell: func(s *summary) any {
		if len(s.Pod.Status.PodIPs) == 0 {
			return none
		}
		return cmp.Or(s.Pod.Status.PodIPs[0].IP, none)
	}},
	{Name: "Node", Wide: true, Field: "pod.spec.nodeName", Empty: none},
	{Name: "Nominated Node", Wide: true, Field: "pod.status.nominatedNodeName", Empty: none},
	{Name: "Readiness Gates", Wide: true, Field: "pod.spec.readinessGates", Cell: gateCell},
}}

const none = "<none>"

func restartCell(s *summary) any {
	if s.restarts == 0 || s.restarted.IsZero() {
		return strconv.Itoa(s.restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, table.ConvertToHumanReadableDateType(s.restarted))
}

// gateCell says how many of the conditions are true that a pod waits for.
func gateCell(s *summary) any {
	pod := s.Pod
	if len(pod.Spec.ReadinessGates) == 0 {
		return none
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if firstIsTrue(&pod.Status, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// firstIsTrue reports whether the first condition of a type is true.
func firstIsTrue(status *corev1.PodStatus, condition corev1.PodConditionType) bool {
	for n := range status.Conditions {
		if status.Conditions[n].Type == condition {
			return status.Conditions[n].Status == corev1.ConditionTrue
		}
	}
	return false
}
