// Package certificates has the admission plugins for certificates.k8s.io: CertificateApproval, CertificateSigning,
// ClusterTrustBundleAttest and CertificateSubjectRestriction.
package certificates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/certificates"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Signers decides what a user may do in the name of a signer: approve and sign requests, and attest bundles. Signers
// are a resource of the authorizer only.
type Signers struct {
	Authorizer authorizer.Authorizer
}

// Plugins returns the plugins of the group.
func (s Signers) Plugins() []resource.Plugin {
	requests := certificatesv1.Resource("certificatesigningrequests")
	return []resource.Plugin{
		{Name: "CertificateApproval", Resource: requests, Subresource: "approval", Validate: s.admitApproval},
		{Name: "CertificateSigning", Resource: requests, Subresource: "status", Validate: s.admitSigning},
		{Name: "ClusterTrustBundleAttest", Resource: certificatesv1.Resource("clustertrustbundles"), Validate: s.admitBundle},
		{Name: "CertificateSubjectRestriction", Resource: requests, Validate: resource.OnCreate(restrictSubject)},
		{Resource: certificatesv1.Resource("podcertificaterequests"), Subresource: "status", Check: s.checkPodStatus},
	}
}

// admitApproval requires the verb approve.
func (s Signers) admitApproval(ctx context.Context, _, old runtime.Object) error {
	signer := old.(*certificatesv1.CertificateSigningRequest).Spec.SignerName
	if s.allows(ctx, "approve", signer) {
		return nil
	}
	return fmt.Errorf("user not permitted to approve requests with signerName %q", signer)
}

// admitSigning requires the verb sign for a certificate and for conditions.
func (s Signers) admitSigning(ctx context.Context, obj, old runtime.Object) error {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	signer := before.Spec.SignerName
	if equality.Semantic.DeepEqual(csr.Status, before.Status) || s.allows(ctx, "sign", signer) {
		return nil
	}
	return fmt.Errorf("user not permitted to sign requests with signerName %q", signer)
}

// admitBundle requires the verb attest for a bundle of a signer, unless only metadata changes.
func (s Signers) admitBundle(ctx context.Context, obj, old runtime.Object) error {
	bundle := obj.(*certificatesv1.ClusterTrustBundle)
	before, _ := old.(*certificatesv1.ClusterTrustBundle)
	signer := bundle.Spec.SignerName
	if signer == "" || before != nil && collected(bundle, before) || s.allows(ctx, "attest", signer) {
		return nil
	}
	return fmt.Errorf("user not permitted to attest for signerName %q", signer)
}

// collected reports whether an update changes nothing but owners and finalizers, as the garbage collector does.
func collected(bundle, old *certificatesv1.ClusterTrustBundle) bool {
	before := old.DeepCopy()
	before.OwnerReferences, before.Finalizers = bundle.OwnerReferences, bundle.Finalizers
	before.ManagedFields = bundle.ManagedFields
	return equality.Semantic.DeepEqual(bundle, before)
}

// checkPodStatus requires the verb sign for a valid change of the status of a pod's request.
func (s Signers) checkPodStatus(ctx context.Context, obj, old runtime.Object, errs field.ErrorList) field.ErrorList {
	pcr, before := obj.(*certificatesv1.PodCertificateRequest), old.(*certificatesv1.PodCertificateRequest)
	signer := before.Spec.SignerName
	if len(errs) > 0 || equality.Semantic.DeepEqual(pcr.Status, before.Status) || s.allows(ctx, "sign", signer) {
		return errs
	}
	name := ""
	if user, ok := request.UserFrom(ctx); ok {
		name = user.GetName()
	}
	text := fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", name, signer)
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "signerName"), text)}
}

// allows asks about a signer, and then about all signers of its domain.
func (s Signers) allows(ctx context.Context, verb, signer string) bool {
	u, ok := request.UserFrom(ctx)
	if !ok {
		return false
	}
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		attributes := authorizer.AttributesRecord{
			User: u, Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
			ResourceRequest: true,
		}
		if decision, _, _ := s.Authorizer.Authorize(ctx, attributes); decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}

var errMasters = errors.New("use of " + certificatesv1.KubeAPIServerClientSignerName + " signer with " +
	user.SystemPrivilegedGroup + " group is not allowed")

// restrictSubject refuses new requests for a client certificate of a user who may do everything.
func restrictSubject(_ context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	parsed, err := certificates.ParseRequest(csr.Spec.Request)
	if err != nil {
		return fmt.Errorf("failed to parse CSR: %w", err)
	}
	if slices.Contains(parsed.Subject.Organization, user.SystemPrivilegedGroup) {
		return errMasters
	}
	return nil
}
