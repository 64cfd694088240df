package certificates

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// signingRequest has the strategy of certificate signing requests. Their spec never changes.
type signingRequest struct {
	resource.Typed[*certificatesv1.CertificateSigningRequest]
}

var requestRules = signingRequest{resource.Typed[*certificatesv1.CertificateSigningRequest]{
	Check: checkRequest,
	PrepareUpdate: func(csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Spec, csr.Status = old.Spec, old.Status
	},
	CheckUpdate: checkRequestUpdate,
}}

// PrepareForCreate writes the user into the spec, and clears the status.
func (signingRequest) PrepareForCreate(ctx context.Context, obj runtime.Object) {
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

// approvalRules are the rules of the approval of a request: only its conditions change.
var approvalRules = resource.Typed[*certificatesv1.CertificateSigningRequest]{
	PrepareUpdate: func(csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Spec, csr.Status.Certificate = old.Spec, old.Status.Certificate
		setConditionTimes(csr, old)
	},
	CheckUpdate: checkApproval,
}

// requestStatusRules are the rules of the status of a request: it may get a certificate, and conditions that say
// nothing about its approval.
var requestStatusRules = resource.Typed[*certificatesv1.CertificateSigningRequest]{
	PrepareUpdate: func(csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Spec = old.Spec
		keepConditions(csr, old, certificatesv1.CertificateApproved)
		keepConditions(csr, old, certificatesv1.CertificateDenied)
		setConditionTimes(csr, old)
	},
	CheckUpdate: checkRequestUpdate,
}

// keepConditions restores the conditions of a type, if there are as many as before. Otherwise the validation refuses
// the update.
func keepConditions(csr, old *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) {
	now, before := conditionsOf(csr, kind), conditionsOf(old, kind)
	for n := range now {
		if len(now) == len(before) {
			*now[n] = *before[n]
		}
	}
}

// conditionsOf returns the conditions of a type.
func conditionsOf(
	csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType,
) (found []*certificatesv1.CertificateSigningRequestCondition) {
	for n := range csr.Status.Conditions {
		if c := &csr.Status.Conditions[n]; c.Type == kind {
			found = append(found, c)
		}
	}
	return found
}

// setConditionTimes sets the times of conditions that a client has left out. A condition may have its status since an
// earlier update.
func setConditionTimes(csr, old *certificatesv1.CertificateSigningRequest) {
	now := metav1.Now()
	for n := range csr.Status.Conditions {
		c := &csr.Status.Conditions[n]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		for _, before := range conditionsOf(old, c.Type) {
			if c.LastTransitionTime.IsZero() && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = now
		}
	}
}
