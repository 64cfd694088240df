package crds

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// approved returns the condition KubernetesAPIApprovalPolicyConformant, or nil for a CRD outside the protected
// community groups.
func approved(crd *apiextensions.CustomResourceDefinition) *condition {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return nil
	}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	c := &condition{
		Type:    apiextensionsv1.KubernetesAPIApprovalPolicyConformant,
		Status:  apiextensionsv1.ConditionFalse,
		Message: message,
	}
	switch state {
	case apihelpers.APIApproved:
		c.Status, c.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		c.Reason = "MissingAnnotation"
	case apihelpers.APIApprovalInvalid:
		c.Reason = "InvalidAnnotation"
	default:
		c.Status, c.Reason = apiextensionsv1.ConditionUnknown, "UnknownAnnotation"
	}
	return c
}
