package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// LeaseRules are the rules of leases. Coordinated leader election is off, as it is by default in kube-apiserver, so its
// fields cannot be set. They stay in leases of a server where it is on. An update needs a resourceVersion, so that two
// holders do not overwrite each other's lease.
var LeaseRules = resource.Typed[*coordinationv1.Lease]{
	Prepare: func(lease *coordinationv1.Lease) { lease.Spec.Strategy, lease.Spec.PreferredHolder = nil, nil },
	Check: func(lease *coordinationv1.Lease) field.ErrorList {
		errs := apivalidation.ValidateObjectMeta(&lease.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadataPath)
		return append(errs, checkSpec(&lease.Spec)...)
	},
	PrepareUpdate: func(lease, old *coordinationv1.Lease) {
		if old.Spec.Strategy == nil {
			lease.Spec.Strategy = nil
		}
		if old.Spec.PreferredHolder == nil {
			lease.Spec.PreferredHolder = nil
		}
	},
	CheckUpdate: func(lease, old *coordinationv1.Lease) field.ErrorList {
		errs := apivalidation.ValidateObjectMetaUpdate(&lease.ObjectMeta, &old.ObjectMeta, metadataPath)
		return append(errs, checkSpec(&lease.Spec)...)
	},
	CreatesOnUpdate: true, RequiresVersion: true,
}

var metadataPath, specPath = field.NewPath("metadata"), field.NewPath("spec")

func checkSpec(spec *coordinationv1.LeaseSpec) field.ErrorList {
	duration := ptr.Deref(spec.LeaseDurationSeconds, 1)
	return append(
		rules.When(duration <= 0, field.Invalid(specPath.Child("leaseDurationSeconds"), duration, "must be greater than 0")),
		rules.NonNegative(ptr.Deref(spec.LeaseTransitions, 0), specPath.Child("leaseTransitions"))...)
}

// LeaseColumns are the printed columns of leases.
var LeaseColumns = resource.Columns[*coordinationv1.Lease]{
	{Name: "Holder", Field: "spec.holderIdentity"},
	{Name: "Age"},
}
