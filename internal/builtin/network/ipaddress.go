package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ipAddressDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.IPAddress{}, ShortNames: []string{"ip"}, Columns: ipAddressColumns,
		Strategy: resource.Typed[*networkingv1.IPAddress]{
			Check: checkIPAddress,
			CheckUpdate: func(obj, old *networkingv1.IPAddress) field.ErrorList {
				errs := append(checkIPAddress(obj), resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)...)
				path := field.NewPath("spec", "parentRef")
				return append(errs, resource.CheckConstant(path, obj.Spec.ParentRef, old.Spec.ParentRef)...)
			},
		},
	}
}

func checkIPAddress(obj *networkingv1.IPAddress) field.ErrorList {
	return resource.CheckClusterMetadata(&obj.ObjectMeta, ipAddressName)
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
