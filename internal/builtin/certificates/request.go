package certificates

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// requestRules are the rules of certificate signing requests. Their spec never changes.
type requestRules struct{ resource.Rules }

// PrepareForCreate writes the user into the spec, and clears the status.
func (requestRules) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	spec := &csr.Spec
	spec.Username, spec.UID, spec.Groups, spec.Extra = "", "", nil, nil
	if user, ok := request.UserFrom(ctx); ok {
		spec.Username, spec.UID, spec.Groups = user.GetName(), user.GetUID(), user.GetGroups()
		for key, values := range user.GetExtra() {
			if spec.Extra == nil {
				spec.Extra = map[string]certificatesv1.ExtraValue{}
			}
			spec.Extra[key] = values
		}
	}
	csr.Status = certificatesv1.CertificateSigningRequestStatus{}
}

// Validate checks the metadata and the spec.
func (requestRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return checkRequest(obj.(*certificatesv1.CertificateSigningRequest))
}

// PrepareForUpdate keeps the spec and the status.
func (requestRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	csr.Spec, csr.Status = before.Spec, before.Status
}

// ValidateUpdate checks the metadata.
func (requestRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return requestUpdate{}.check(ctx, obj, old)
}

// approvalRules are the rules of the approval of a request: only its conditions change.
type approvalRules struct{ resource.Rules }

// PrepareForUpdate keeps the spec and the certificate, and sets missing times of conditions.
func (approvalRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	csr.Spec, csr.Status.Certificate = before.Spec, before.Status.Certificate
	setConditionTimes(csr, before)
}

// ValidateUpdate checks the conditions.
func (approvalRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return requestUpdate{approves: true}.check(ctx, obj, old)
}

// requestStatusRules are the rules of the status of a request: it may get a certificate, and conditions that say
// nothing about its approval.
type requestStatusRules struct{ resource.Rules }

// PrepareForUpdate keeps the spec and the approval, and sets missing times of conditions.
func (requestStatusRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	csr.Spec = before.Spec
	keepConditions(csr, before, certificatesv1.CertificateApproved)
	keepConditions(csr, before, certificatesv1.CertificateDenied)
	setConditionTimes(csr, before)
}

// ValidateUpdate checks the conditions and the certificate.
func (requestStatusRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return requestUpdate{}.check(ctx, obj, old)
}

// keepConditions restores the conditions of a type, if there are as many as before. Otherwise the validation refuses
// the update.
func keepConditions(csr, old *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) {
	indices, before := conditionsOf(csr, kind), conditionsOf(old, kind)
	if len(indices) != len(before) {
		return
	}
	for n, index := range indices {
		csr.Status.Conditions[index] = old.Status.Conditions[before[n]]
	}
}

// conditionsOf returns the indices of the conditions of a type.
func conditionsOf(
	csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType,
) (indices []int) {
	for n := range csr.Status.Conditions {
		if csr.Status.Conditions[n].Type == kind {
			indices = append(indices, n)
		}
	}
	return indices
}

// setConditionTimes sets the times of conditions that a client has left out.
func setConditionTimes(csr, old *certificatesv1.CertificateSigningRequest) {
	now := metav1.Now()
	for n := range csr.Status.Conditions {
		c := &csr.Status.Conditions[n]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = lastTransition(c, old, now)
		}
	}
}

// lastTransition returns the time since when the status of a condition is what it is.
func lastTransition(
	c *certificatesv1.CertificateSigningRequestCondition, old *certificatesv1.CertificateSigningRequest, now metav1.Time,
) metav1.Time {
	for n := range old.Status.Conditions {
		before := &old.Status.Conditions[n]
		if before.Type == c.Type && before.Status == c.Status && !before.LastTransitionTime.IsZero() {
			return before.LastTransitionTime
		}
	}
	return now
}
