package certificates

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: certificatesv1.SchemeGroupVersion, Kind: "CertificateSigningRequest",
			Plural: "certificatesigningrequests", Singular: "certificatesigningrequest", ShortNames: []string{"csr"},
			Object: &certificatesv1.CertificateSigningRequest{}, List: &certificatesv1.CertificateSigningRequestList{},
			Strategy: requestRules, Resets: []string{"spec", "status"},
			Subresources: []resource.Subresource{
				{
					Name: "approval", Verbs: resource.SubresourceVerbs, Strategy: approvalRules,
					Resets: []string{"spec", "status.certificate"},
				},
				{
					Name: "status", Verbs: resource.SubresourceVerbs, Strategy: requestStatusRules,
					Resets: []string{"spec", "status.conditions"}, Updated: countIssued,
				},
			},
			Columns: requestColumns, Fields: &requestFields,
		},
		{
			GroupVersion: certificatesv1.SchemeGroupVersion, Kind: "ClusterTrustBundle",
			Plural: "clustertrustbundles", Singular: "clustertrustbundle",
			Object: &certificatesv1.ClusterTrustBundle{}, List: &certificatesv1.ClusterTrustBundleList{},
			Strategy: bundleRules, Columns: bundleColumns, Fields: &bundleFields,
			Storage: resource.NewStorage(certificatesv1beta1.SchemeGroupVersion,
				&certificatesv1.ClusterTrustBundle{}, &certificatesv1beta1.ClusterTrustBundle{}),
		},
		{
			GroupVersion: certificatesv1.SchemeGroupVersion, Kind: "PodCertificateRequest",
			Plural: "podcertificaterequests", Singular: "podcertificaterequest", Namespaced: true,
			Object: &certificatesv1.PodCertificateRequest{}, List: &certificatesv1.PodCertificateRequestList{},
			Strategy: podRequestRules, Default: defaultPodRequest, Resets: []string{"status"},
			Subresources: []resource.Subresource{{
				Name: "status", Verbs: resource.SubresourceVerbs, Strategy: podRequestStatusRules,
				Resets: []string{"metadata", "spec"},
			}},
			Columns: podRequestColumns, Fields: &podRequestFields,
			Storage: resource.NewStorage(certificatesv1beta1.SchemeGroupVersion,
				&certificatesv1.PodCertificateRequest{}, &certificatesv1beta1.PodCertificateRequest{}),
		},
	}
}

const signerField = "spec.signerName"

var requestFields = resource.Fields{
	Names: []string{signerField},
	Values: func(obj runtime.Object) map[string]string {
		return map[string]string{signerField: obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName}
	},
	NoNamespace: true, Error: unsupportedField,
}

var bundleFields = resource.Fields{
	Names: []string{signerField},
	Values: func(obj runtime.Object) map[string]string {
		return map[string]string{signerField: obj.(*certificatesv1.ClusterTrustBundle).Spec.SignerName}
	},
	NoNamespace: true, Error: unsupportedField,
}

var podRequestFields = resource.Fields{
	Names: []string{signerField, "spec.podName", "spec.nodeName"},
	Values: func(obj runtime.Object) map[string]string {
		spec := &obj.(*certificatesv1.PodCertificateRequest).Spec
		return map[string]string{
			signerField: spec.SignerName, "spec.podName": spec.PodName, "spec.nodeName": string(spec.NodeName),
		}
	},
	NoNamespace: true, Error: unsupportedField,
}

func unsupportedField(name string) error { return fmt.Errorf("field label not supported: %s", name) }
