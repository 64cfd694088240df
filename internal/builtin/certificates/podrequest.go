package certificates

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// defaultPodRequest sets the duration to a day.
func defaultPodRequest(obj runtime.Object) {
	resource.Default(&obj.(*certificatesv1.PodCertificateRequest).Spec.MaxExpirationSeconds, 24*60*60)
}

var podRequestRules = resource.Typed[*certificatesv1.PodCertificateRequest]{
	Prepare: func(pcr *certificatesv1.PodCertificateRequest) {
		pcr.Status = certificatesv1.PodCertificateRequestStatus{}
	},
	Check: func(pcr *certificatesv1.PodCertificateRequest) field.ErrorList {
		errs := resource.CheckMetadata(&pcr.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, checkSignerName(specPath.Child("signerName"), pcr.Spec.SignerName)...)
	},
	PrepareUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) {
		pcr.Status = old.Status
	},
	CheckUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&pcr.ObjectMeta, &old.ObjectMeta)
		return append(errs, apivalidation.ValidateImmutableField(pcr.Spec, old.Spec, specPath)...)
	},
	RequiresVersion: true,
}

// ended reports whether a condition ends the request of a pod.
func ended(condition string) bool {
	return slices.Contains([]string{
		certificatesv1.PodCertificateRequestConditionTypeIssued, certificatesv1.PodCertificateRequestConditionTypeDenied,
		certificatesv1.PodCertificateRequestConditionTypeFailed,
	}, condition)
}

// hasEnded reports whether a request was issued, denied or failed.
func hasEnded(pcr *certificatesv1.PodCertificateRequest) bool {
	return slices.ContainsFunc(pcr.Status.Conditions, func(c metav1.Condition) bool {
		return ended(c.Type) && c.Status == metav1.ConditionTrue
	})
}

// podRequestStatusRules are the rules of the status of a pod's request: when that has ended, it stays as it is.
var podRequestStatusRules = resource.Typed[*certificatesv1.PodCertificateRequest]{
	PrepareUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) {
		pcr.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&pcr.ObjectMeta, &old.ObjectMeta)
	},
	CheckUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&pcr.ObjectMeta, &old.ObjectMeta)
		errs = append(errs, metav1validation.ValidateConditions(pcr.Status.Conditions, conditionsPath)...)
		if hasEnded(old) && !equality.Semantic.DeepEqual(pcr.Status, old.Status) {
			const text = "immutable after PodCertificateRequest is issued, denied, or failed"
			errs = append(errs, field.Invalid(statusPath, field.OmitValueType{}, text))
		}
		return errs
	},
	RequiresVersion: true,
}
