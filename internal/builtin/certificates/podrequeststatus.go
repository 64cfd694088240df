package certificates

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// endings are the conditions that end the request of a pod.
var endings = []string{
	certificatesv1.PodCertificateRequestConditionTypeIssued, certificatesv1.PodCertificateRequestConditionTypeDenied,
	certificatesv1.PodCertificateRequestConditionTypeFailed,
}

func ended(condition string) bool { return slices.Contains(endings, condition) }

// endingOf returns the condition that has ended a request; empty if it goes on.
func endingOf(pcr *certificatesv1.PodCertificateRequest) string {
	for n := range pcr.Status.Conditions {
		if c := &pcr.Status.Conditions[n]; ended(c.Type) && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// checkPodRequestStatus checks that a status is written once. Of an issued certificate it checks that the fields are
// set.
func checkPodRequestStatus(pcr, old *certificatesv1.PodCertificateRequest) field.ErrorList {
	if errs := checkPodConditions(pcr.Status.Conditions); len(errs) > 0 {
		return errs
	}
	unchanged := equality.Semantic.DeepEqual(pcr.Status, old.Status)
	switch ending := endingOf(pcr); {
	case endingOf(old) != "":
		return omitted(!unchanged, "immutable after PodCertificateRequest is issued, denied, or failed")
	case ending == certificatesv1.PodCertificateRequestConditionTypeIssued:
		return checkIssued(&pcr.Status)
	case ending != "":
		only := certificatesv1.PodCertificateRequestStatus{Conditions: pcr.Status.Conditions}
		return omitted(!equality.Semantic.DeepEqual(pcr.Status, only),
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	}
	return omitted(!unchanged, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
}

// omitted returns an error about the status that does not show it, if fails is true.
func omitted(fails bool, text string) field.ErrorList {
	if !fails {
		return nil
	}
	return field.ErrorList{field.Invalid(statusPath, field.OmitValueType{}, text)}
}

func checkPodConditions(conditions []metav1.Condition) (errs field.ErrorList) {
	known := 0
	for n := range conditions {
		c := &conditions[n]
		path := statusPath.Child("conditions", fmt.Sprintf("[%d]", n)) // as kube-apiserver writes the index here
		if !ended(c.Type) {
			errs = append(errs, field.NotSupported(path.Child("type"), c.Type, endings))
			continue
		}
		if known++; known > 1 {
			const text = `There may be at most one condition with type "Issued", "Denied", or "Failed"`
			errs = append(errs, field.Invalid(path.Child("type"), c.Type, text))
		}
		if c.Status != metav1.ConditionTrue {
			only := []metav1.ConditionStatus{metav1.ConditionTrue}
			errs = append(errs, field.NotSupported(path.Child("status"), c.Status, only))
		}
	}
	return append(errs, metav1validation.ValidateConditions(conditions, conditionsPath)...)
}

// checkIssued checks that an issued certificate and its times are set.
func checkIssued(status *certificatesv1.PodCertificateRequestStatus) (errs field.ErrorList) {
	if chain := status.CertificateChain; chain == "" || checkCertificatePEM([]byte(chain)) != nil {
		const text = "issued certificate chain must contain at least one certificate"
		return field.ErrorList{field.Invalid(statusPath.Child("certificateChain"), chain, text)}
	}
	for _, time := range []struct {
		field, text string
		value       *metav1.Time
	}{
		{"notBefore", "must be present and consistent with the issued certificate", status.NotBefore},
		{"notAfter", "must be present and consistent with the issued certificate", status.NotAfter},
		{"beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]", status.BeginRefreshAt},
	} {
		if time.value == nil {
			errs = append(errs, field.Required(statusPath.Child(time.field), time.text))
		}
	}
	return errs
}
