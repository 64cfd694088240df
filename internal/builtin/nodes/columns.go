package nodes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var nodeColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Status", Type: "string", Description: "The status of the node"},
		{Name: "Roles", Type: "string", Description: "The roles of the node"},
		resource.AgeColumn,
		{Name: "Version", Type: "string", Description: corev1.NodeSystemInfo{}.SwaggerDoc()["kubeletVersion"]},
		{Name: "Internal-IP", Type: "string", Priority: 1, Description: corev1.NodeStatus{}.SwaggerDoc()["addresses"]},
		{Name: "External-IP", Type: "string", Priority: 1, Description: corev1.NodeStatus{}.SwaggerDoc()["addresses"]},
		{Name: "OS-Image", Type: "string", Priority: 1, Description: corev1.NodeSystemInfo{}.SwaggerDoc()["osImage"]},
		{
			Name: "Kernel-Version", Type: "string", Priority: 1,
			Description: corev1.NodeSystemInfo{}.SwaggerDoc()["kernelVersion"],
		},
		{
			Name: "Container-Runtime", Type: "string", Priority: 1,
			Description: corev1.NodeSystemInfo{}.SwaggerDoc()["containerRuntimeVersion"],
		},
	},
	Cells: func(obj runtime.Object) []any {
		n := obj.(*corev1.Node)
		info := &n.Status.NodeInfo
		kernel := orUnknown(info.KernelVersion)
		if info.Architecture != "" {
			kernel += " (" + info.Architecture + ")"
		}
		return []any{
			n.Name, statusCell(n), rolesCell(n), resource.Age(n), info.KubeletVersion,
			addressCell(n, corev1.NodeInternalIP), addressCell(n, corev1.NodeExternalIP),
			orUnknown(info.OSImage), kernel, orUnknown(info.ContainerRuntimeVersion),
		}
	},
}

// statusCell says what the last condition Ready says.
func statusCell(n *corev1.Node) string {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		switch {
		case condition.Type != corev1.NodeReady:
		case condition.Status == corev1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// rolesCell names the roles that the labels of a node say.
func rolesCell(n *corev1.Node) string {
	roles := sets.New[string]()
	for key, value := range n.Labels {
		if role, found := strings.CutPrefix(key, "node-role.kubernetes.io/"); found && role != "" {
			roles.Insert(role)
		}
		if key == "kubernetes.io/role" && value != "" {
			roles.Insert(value)
		}
	}
	if len(roles) == 0 {
		return "<none>"
	}
	return strings.Join(sets.List(roles), ",")
}

func addressCell(n *corev1.Node, kind corev1.NodeAddressType) string {
	isKind := func(address corev1.NodeAddress) bool { return address.Type == kind }
	if i := slices.IndexFunc(n.Status.Addresses, isKind); i >= 0 {
		return n.Status.Addresses[i].Address
	}
	return "<none>"
}

func orUnknown(text string) string {
	if text == "" {
		return "<unknown>"
	}
	return text
}
