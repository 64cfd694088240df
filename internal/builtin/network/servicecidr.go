package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func serviceCIDRDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.ServiceCIDR{}, Columns: serviceCIDRColumns,
		Strategy: serviceCIDRRules.Rules(), Subresources: []resource.Subresource{serviceCIDRRules.Status()},
	}
}

var serviceCIDRRules = resource.Plain[*networkingv1.ServiceCIDR]{CheckUpdate: checkServiceCIDRUpdate}

// checkServiceCIDRUpdate lets a second range be added, and nothing else be changed.
func checkServiceCIDRUpdate(obj, old *networkingv1.ServiceCIDR) (errs field.ErrorList) {
	path, after, before := field.NewPath("spec", "cidrs"), obj.Spec.CIDRs, old.Spec.CIDRs
	if isAdded := len(before) == 1 && len(after) == 2; len(after) != len(before) && !isAdded {
		return field.ErrorList{field.Invalid(path, after, apivalidation.FieldImmutableErrorMsg)}
	}
	for n, cidr := range before {
		errs = append(errs, apivalidation.ValidateImmutableField(after[n], cidr, path.Index(n))...)
	}
	return errs
}

var serviceCIDRColumns = resource.Columns[*networkingv1.ServiceCIDR]{
	{Name: "CIDRs", Field: "spec.cidrs[*]"},
	{Name: "Age"},
}
