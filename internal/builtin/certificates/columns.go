package certificates

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const none = "<none>"

// kube-apiserver describes the columns of requests by the fields of v1beta1.
var (
	requestDocs    = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()
	podRequestDocs = certificatesv1.PodCertificateRequestSpec{}.SwaggerDoc()
)

var requestColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.AgeColumn,
		{Name: "SignerName", Type: "string", Description: requestDocs["signerName"]},
		{Name: "Requestor", Type: "string", Description: requestDocs["request"]},
		{Name: "RequestedDuration", Type: "string", Description: requestDocs["expirationSeconds"]},
		{
			Name: "Condition", Type: "string",
			Description: certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"],
		},
	},
	Cells: func(obj runtime.Object) []any {
		csr := obj.(*certificatesv1.CertificateSigningRequest)
		requested := none
		if seconds := csr.Spec.ExpirationSeconds; seconds != nil {
			requested = duration.HumanDuration(time.Duration(*seconds) * time.Second)
		}
		return []any{
			csr.Name, resource.Age(csr), orNone(csr.Spec.SignerName), csr.Spec.Username, requested, requestState(csr),
		}
	},
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// requestState returns the decision about a request, and what came of it.
func requestState(csr *certificatesv1.CertificateSigningRequest) string {
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

var bundleColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "SignerName", Type: "string",
			Description: certificatesv1.ClusterTrustBundleSpec{}.SwaggerDoc()["signerName"],
		},
	},
	Cells: func(obj runtime.Object) []any {
		bundle := obj.(*certificatesv1.ClusterTrustBundle)
		return []any{bundle.Name, orNone(bundle.Spec.SignerName)}
	},
}

var podRequestColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "PodName", Type: "string", Description: podRequestDocs["podName"]},
		{Name: "ServiceAccountName", Type: "string", Description: podRequestDocs["serviceAccountName"]},
		{Name: "NodeName", Type: "string", Description: podRequestDocs["nodeName"]},
		{Name: "SignerName", Type: "string", Description: podRequestDocs["signerName"]},
		{Name: "State", Type: "string", Description: "Is the request Pending, Issued, Denied, or Failed?"},
		{
			Name: "UnverifiedUserAnnotations", Type: "string",
			Description: podRequestDocs["unverifiedUserAnnotations"],
		},
	},
	Cells: func(obj runtime.Object) []any {
		pcr := obj.(*certificatesv1.PodCertificateRequest)
		spec := &pcr.Spec
		return []any{
			pcr.Name, spec.PodName, spec.ServiceAccountName, string(spec.NodeName), spec.SignerName, podRequestState(pcr),
			labels.FormatLabels(spec.UnverifiedUserAnnotations),
		}
	},
}

// podRequestState returns the last condition that ends a request.
func podRequestState(pcr *certificatesv1.PodCertificateRequest) string {
	state := "Pending"
	for n := range pcr.Status.Conditions {
		if kind := pcr.Status.Conditions[n].Type; ended(kind) {
			state = kind
		}
	}
	return state
}
