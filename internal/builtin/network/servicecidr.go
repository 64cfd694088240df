package network

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func serviceCIDRDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: networkingv1.SchemeGroupVersion, Kind: "ServiceCIDR", Plural: "servicecidrs",
		Singular: "servicecidr", Object: &networkingv1.ServiceCIDR{}, List: &networkingv1.ServiceCIDRList{},
		Columns: serviceCIDRColumns, Resets: status,
		Strategy: resource.Typed[*networkingv1.ServiceCIDR]{
			Prepare:       func(obj *networkingv1.ServiceCIDR) { obj.Status = networkingv1.ServiceCIDRStatus{} },
			Check:         checkServiceCIDR,
			PrepareUpdate: func(obj, old *networkingv1.ServiceCIDR) { obj.Status = old.Status },
			CheckUpdate:   checkServiceCIDRUpdate,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Verbs: resource.SubresourceVerbs, Resets: metadataAndSpec,
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
	errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	return append(errs, checkCIDRs(&obj.Spec)...)
}

func checkCIDRs(spec *networkingv1.ServiceCIDRSpec) (errs field.ErrorList) {
	switch {
	case len(spec.CIDRs) == 0:
		return field.ErrorList{field.Required(cidrsPath, "at least one CIDR required")}
	case len(spec.CIDRs) > 2:
		shown := struct{ CIDRs []string }{spec.CIDRs} // as kube-apiserver shows its internal type
		return field.ErrorList{field.Invalid(cidrsPath, shown, "may only hold up to 2 values")}
	}
	for n, cidr := range spec.CIDRs {
		errs = append(errs, validation.IsValidCIDR(cidrsPath.Index(n), cidr)...)
	}
	if len(spec.CIDRs) < 2 {
		return errs
	}
	first, second := netutils.IPFamilyOfCIDRString(spec.CIDRs[0]), netutils.IPFamilyOfCIDRString(spec.CIDRs[1])
	if first == second && first != netutils.IPFamilyUnknown {
		errs = append(errs, field.Invalid(cidrsPath, spec.CIDRs,
			"may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return errs
}

// checkServiceCIDRUpdate lets a range of the other family be added, and nothing else be changed.
func checkServiceCIDRUpdate(obj, old *networkingv1.ServiceCIDR) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	after, before := obj.Spec.CIDRs, old.Spec.CIDRs
	added := len(before) == 1 && len(after) == 2
	if len(after) != len(before) && !added {
		return append(errs, field.Invalid(cidrsPath, after, apivalidation.FieldImmutableErrorMsg))
	}
	for n, cidr := range before {
		if cidr != after[n] {
			errs = append(errs, field.Invalid(cidrsPath.Index(n), after[n], apivalidation.FieldImmutableErrorMsg))
		}
	}
	if added {
		errs = append(errs, checkCIDRs(&obj.Spec)...)
	}
	return errs
}

var serviceCIDRColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("CIDRs", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		cidr := obj.(*networkingv1.ServiceCIDR)
		return []any{cidr.Name, strings.Join(cidr.Spec.CIDRs, ","), resource.Age(cidr)}
	},
}
