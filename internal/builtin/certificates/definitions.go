package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &certificatesv1.CertificateSigningRequest{}, ShortNames: []string{"csr"},
			Strategy: requestRules, Resets: []string{"spec", "status"},
			Subresources: []resource.Subresource{
				{
					Name: "approval", Strategy: approvalRules,
					Resets: []string{"spec", "status.certificate"},
				},
				{
					Name: "status", Strategy: requestStatusRules,
					Resets: []string{"spec", "status.conditions"}, Updated: countIssued,
				},
			},
			Columns: requestColumns,
			Fields:  &resource.Fields{Values: resource.Paths(&certificatesv1.CertificateSigningRequest{}, "spec.signerName")},
		},
		{
			Object:   &certificatesv1.ClusterTrustBundle{},
			Strategy: bundleRules, Columns: bundleColumns,
			Fields:  &resource.Fields{Values: resource.Paths(&certificatesv1.ClusterTrustBundle{}, "spec.signerName")},
			Storage: resource.NewStorage(&certificatesv1.ClusterTrustBundle{}, &certificatesv1beta1.ClusterTrustBundle{}),
		},
		{
			Object: &certificatesv1.PodCertificateRequest{}, Namespaced: true,
			Strategy: podRequestRules, Default: defaultPodRequest,
			Subresources: []resource.Subresource{{
				Name: "status", Strategy: podRequestStatusRules,
				Resets: []string{"metadata", "spec"},
			}},
			Columns: podRequestColumns,
			Fields: &resource.Fields{NoNamespace: true, Values: resource.Paths(&certificatesv1.PodCertificateRequest{},
				"spec.signerName", "spec.podName", "spec.nodeName")},
			Storage: resource.NewStorage(&certificatesv1.PodCertificateRequest{}, &certificatesv1beta1.PodCertificateRequest{}),
		},
	}
}
