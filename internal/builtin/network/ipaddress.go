package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ipAddressDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.IPAddress{}, ShortNames: []string{"ip"}, Columns: ipAddressColumns,
		Strategy: resource.Plain[*networkingv1.IPAddress]{
			Name: ipAddressName, Declared: []string{"spec.parentRef"},
		}.Rules(),
	}
}

// ipAddressName returns what is wrong with the name of an IPAddress: it must be an address in its canonical form.
func ipAddressName(name string, _ bool) (messages []string) {
	for _, err := range validation.IsValidIP(nil, name) {
		messages = append(messages, err.Detail)
	}
	return messages
}

var ipAddressColumns = resource.Columns[*networkingv1.IPAddress]{
	{Name: "ParentRef", Field: "spec.parentRef", Cell: parentCell},
}

func parentCell(address *networkingv1.IPAddress) any {
	parent := address.Spec.ParentRef
	if parent == nil {
		return none
	}
	cell := schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String()
	if parent.Namespace != "" {
		cell += "/" + parent.Namespace
	}
	return cell + "/" + parent.Name
}
