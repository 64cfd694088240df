package certificates

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const none = "<none>"

// kube-apiserver describes the columns of requests by the fields of v1beta1.
var (
	requestDocs      = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()
	requestStateDocs = certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()
)

var requestColumns = resource.Columns[*certificatesv1.CertificateSigningRequest]{
	{Name: "Age"},
	{Name: "SignerName", Field: "spec.signerName", Empty: none, Doc: requestDocs["signerName"]},
	{Name: "Requestor", Field: "spec.username", Doc: requestDocs["request"]},
	{Name: "RequestedDuration", Doc: requestDocs["expirationSeconds"], Cell: durationCell},
	{Name: "Condition", Doc: requestStateDocs["conditions"], Cell: requestState},
}

func durationCell(csr *certificatesv1.CertificateSigningRequest) any {
	if csr.Spec.ExpirationSeconds == nil {
		return none
	}
	return duration.HumanDuration(time.Duration(*csr.Spec.ExpirationSeconds) * time.Second)
}

// requestState returns the decision about a request, and what came of it.
func requestState(csr *certificatesv1.CertificateSigningRequest) any {
	state := "Pending"
	switch {
	case len(conditionsOf(csr, certificatesv1.CertificateDenied)) > 0:
		state = "Denied"
	case len(conditionsOf(csr, certificatesv1.CertificateApproved)) > 0:
		state = "Approved"
	}
	if len(conditionsOf(csr, certificatesv1.CertificateFailed)) > 0 {
		state += ",Failed"
	}
	if len(csr.Status.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}

var bundleColumns = resource.Columns[*certificatesv1.ClusterTrustBundle]{
	{Name: "SignerName", Field: "spec.signerName", Empty: none},
}

var podRequestColumns = resource.Columns[*certificatesv1.PodCertificateRequest]{
	{Name: "PodName", Field: "spec.podName"},
	{Name: "ServiceAccountName", Field: "spec.serviceAccountName"},
	{Name: "NodeName", Field: "spec.nodeName"},
	{Name: "SignerName", Field: "spec.signerName"},
	{Name: "State", Doc: "Is the request Pending, Issued, Denied, or Failed?", Cell: podRequestState},
	{Name: "UnverifiedUserAnnotations", Field: "spec.unverifiedUserAnnotations"},
}

// podRequestState returns the last condition that ends a request.
func podRequestState(pcr *certificatesv1.PodCertificateRequest) any {
	state := "Pending"
	for n := range pcr.Status.Conditions {
		if kind := pcr.Status.Conditions[n].Type; ended(kind) {
			state = kind
		}
	}
	return state
}
