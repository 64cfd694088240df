package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func serviceCIDRDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.ServiceCIDR{}, Columns: serviceCIDRColumns, Resets: status,
		Strategy: resource.Typed[*networkingv1.ServiceCIDR]{
			Prepare:       func(obj *networkingv1.ServiceCIDR) { obj.Status = networkingv1.ServiceCIDRStatus{} },
			Check:         checkServiceCIDR,
			PrepareUpdate: func(obj, old *networkingv1.ServiceCIDR) { obj.Status = old.Status },
			CheckUpdate:   checkServiceCIDRUpdate,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Resets: metadataAndSpec,
			Strategy: resource.Typed[*networkingv1.ServiceCIDR]{
				PrepareUpdate: func(obj, old *networkingv1.ServiceCIDR) {
					obj.Spec = old.Spec
					metav1.ResetObjectMetaForStatus(&obj.ObjectMeta, &old.ObjectMeta)
				},
				CheckUpdate: func(obj, old *networkingv1.ServiceCIDR) field.ErrorList {
					return resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
				},
			},
		}},
	}
}

var cidrsPath = field.NewPath("spec", "cidrs")

func checkServiceCIDR(obj *networkingv1.ServiceCIDR) field.ErrorList {
	return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

// checkServiceCIDRUpdate lets a second range be added, and nothing else be changed.
func checkServiceCIDRUpdate(obj, old *networkingv1.ServiceCIDR) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	after, before := obj.Spec.CIDRs, old.Spec.CIDRs
	if added := len(before) == 1 && len(after) == 2; len(after) != len(before) && !added {
		return append(errs, field.Invalid(cidrsPath, after, apivalidation.FieldImmutableErrorMsg))
	}
	for n, cidr := range before {
		if cidr != after[n] {
			errs = append(errs, field.Invalid(cidrsPath.Index(n), after[n], apivalidation.FieldImmutableErrorMsg))
		}
	}
	return errs
}

var serviceCIDRColumns = resource.Columns[*networkingv1.ServiceCIDR]{
	{Name: "CIDRs", Field: "spec.cidrs[*]"},
	{Name: "Age"},
}
