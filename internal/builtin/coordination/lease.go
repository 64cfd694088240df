package coordination

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var metadataPath = field.NewPath("metadata")

// LeaseRules are the rules of leases. Coordinated leader election is off, as it is by default in kube-apiserver, so its
// fields cannot be set. They stay in leases of a server where it is on.
type LeaseRules struct{ resource.Rules }

// PrepareForCreate clears the fields of coordinated leader election.
func (LeaseRules) PrepareForCreate(_ context.Context, obj runtime.Object) {
	spec := &obj.(*coordinationv1.Lease).Spec
	spec.Strategy, spec.PreferredHolder = nil, nil
}

// Validate checks the metadata and the spec.
func (LeaseRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	lease := obj.(*coordinationv1.Lease)
	errs := apivalidation.ValidateObjectMeta(&lease.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadataPath)
	return append(errs, validateSpec(&lease.Spec, field.NewPath("spec"))...)
}

func validateSpec(spec *coordinationv1.LeaseSpec, path *field.Path) (errs field.ErrorList) {
	if seconds := spec.LeaseDurationSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *seconds, "must be greater than 0"))
	}
	if transitions := spec.LeaseTransitions; transitions != nil && *transitions < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *transitions, apivalidation.IsNegativeErrorMsg))
	}
	return errs
}

// PrepareForUpdate clears the fields of coordinated leader election that are new.
func (LeaseRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	spec, before := &obj.(*coordinationv1.Lease).Spec, &old.(*coordinationv1.Lease).Spec
	if before.Strategy == nil {
		spec.Strategy = nil
	}
	if before.PreferredHolder == nil {
		spec.PreferredHolder = nil
	}
}

// ValidateUpdate checks the metadata and the spec.
func (LeaseRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	lease, before := obj.(*coordinationv1.Lease), old.(*coordinationv1.Lease)
	errs := apivalidation.ValidateObjectMetaUpdate(&lease.ObjectMeta, &before.ObjectMeta, metadataPath)
	return append(errs, validateSpec(&lease.Spec, field.NewPath("spec"))...)
}

// AllowCreateOnUpdate returns true.
func (LeaseRules) AllowCreateOnUpdate(context.Context) bool { return true }

// AllowUnconditionalUpdate returns false, so that two holders do not overwrite each other's lease.
func (LeaseRules) AllowUnconditionalUpdate(context.Context) bool { return false }

// LeaseColumns are the printed columns of leases.
var LeaseColumns = resource.Columns[*coordinationv1.Lease]{
	{Name: "Holder", Field: "spec.holderIdentity"},
	{Name: "Age"},
}
