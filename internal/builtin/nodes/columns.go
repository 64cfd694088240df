package nodes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const unknown = "<unknown>"

var nodeColumns = resource.Columns[*corev1.Node]{
	{Name: "Status", Doc: "The status of the node", Cell: statusCell},
	{Name: "Roles", Doc: "The roles of the node", Cell: rolesCell},
	{Name: "Age"},
	{Name: "Version", Field: "status.nodeInfo.kubeletVersion"},
	{Name: "Internal-IP", Wide: true, Field: "status.addresses", Cell: addressCell(corev1.NodeInternalIP)},
	{Name: "External-IP", Wide: true, Field: "status.addresses", Cell: addressCell(corev1.NodeExternalIP)},
	{Name: "OS-Image", Wide: true, Field: "status.nodeInfo.osImage", Empty: unknown},
	{Name: "Kernel-Version", Wide: true, Field: "status.nodeInfo.kernelVersion", Cell: kernelCell},
	{Name: "Container-Runtime", Wide: true, Field: "status.nodeInfo.containerRuntimeVersion", Empty: unknown},
}

// statusCell says what the last condition Ready says.
func statusCell(n *corev1.Node) any {
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
func rolesCell(n *corev1.Node) any {
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

func addressCell(kind corev1.NodeAddressType) func(n *corev1.Node) any {
	isKind := func(address corev1.NodeAddress) bool { return address.Type == kind }
	return func(n *corev1.Node) any {
		if i := slices.IndexFunc(n.Status.Addresses, isKind); i >= 0 {
			return n.Status.Addresses[i].Address
		}
		return "<none>"
	}
}

func kernelCell(n *corev1.Node) any {
	kernel := cmp.Or(n.Status.NodeInfo.KernelVersion, unknown)
	if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
		kernel += " (" + architecture + ")"
	}
	return kernel
}
