package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ipAddressDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: networkingv1.SchemeGroupVersion, Kind: "IPAddress", Plural: "ipaddresses", Singular: "ipaddress",
		ShortNames: []string{"ip"}, Object: &networkingv1.IPAddress{}, List: &networkingv1.IPAddressList{},
		Columns: ipAddressColumns,
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

var ipAddressColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn, resource.TextColumn("ParentRef", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"]),
	},
	Cells: func(obj runtime.Object) []any {
		address := obj.(*networkingv1.IPAddress)
		return []any{address.Name, parentCell(address.Spec.ParentRef)}
	},
}

func parentCell(parent *networkingv1.ParentReference) string {
	if parent == nil {
		return none
	}
	cell := schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String()
	if parent.Namespace != "" {
		cell += "/" + parent.Namespace
	}
	return cell + "/" + parent.Name
}
