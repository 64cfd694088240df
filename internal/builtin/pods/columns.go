package pods

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var podColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Ready", Type: "string", Description: "The aggregate readiness state of this pod for accepting traffic."},
		{Name: "Status", Type: "string", Description: "The aggregate status of the containers in this pod."},
		{
			Name: "Restarts", Type: "string", Description: "The number of times the containers in this pod have been " +
				"restarted and when the last container in this pod has restarted.",
		},
		resource.AgeColumn,
		{Name: "IP", Type: "string", Priority: 1, Description: corev1.PodStatus{}.SwaggerDoc()["podIP"]},
		{Name: "Node", Type: "string", Priority: 1, Description: corev1.PodSpec{}.SwaggerDoc()["nodeName"]},
		{
			Name: "Nominated Node", Type: "string", Priority: 1,
			Description: corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"],
		},
		{
			Name: "Readiness Gates", Type: "string", Priority: 1,
			Description: corev1.PodSpec{}.SwaggerDoc()["readinessGates"],
		},
	},
	Cells: func(obj runtime.Object) []any {
		pod := obj.(*corev1.Pod)
		s := summarize(pod)
		address := ""
		if len(pod.Status.PodIPs) > 0 {
			address = pod.Status.PodIPs[0].IP
		}
		return []any{
			pod.Name, fmt.Sprintf("%d/%d", s.ready, s.containers), s.reason, s.restartCell(), resource.Age(pod),
			orNone(address), orNone(pod.Spec.NodeName), orNone(pod.Status.NominatedNodeName), gateCell(pod),
		}
	},
}

func (s *summary) restartCell() string {
	if s.restarts == 0 || s.restarted.IsZero() {
		return strconv.Itoa(s.restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, table.ConvertToHumanReadableDateType(s.restarted))
}

// gateCell says how many of the conditions are true that a pod waits for.
func gateCell(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
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

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
