package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// categories are those of all resources of the group.
var categories = []string{"api-extensions"}

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "MutatingAdmissionPolicyBinding",
			Plural: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Categories: categories,
			Object:   &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
			List:     &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
			Strategy: mutatingBindingRules, Default: DefaultMutatingBinding, Columns: mutatingBindingColumns,
		},
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "MutatingAdmissionPolicy",
			Plural: "mutatingadmissionpolicies", Singular: "mutatingadmissionpolicy", Categories: categories,
			Object:   &admissionregistrationv1.MutatingAdmissionPolicy{},
			List:     &admissionregistrationv1.MutatingAdmissionPolicyList{},
			Strategy: mutatingPolicyRules, Default: DefaultMutatingPolicy, Columns: mutatingPolicyColumns,
		},
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "MutatingWebhookConfiguration",
			Plural: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Categories: categories,
			Object:   &admissionregistrationv1.MutatingWebhookConfiguration{},
			List:     &admissionregistrationv1.MutatingWebhookConfigurationList{},
			Strategy: mutatingWebhookRules, Default: DefaultMutatingWebhooks, Columns: webhookColumns,
		},
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "ValidatingAdmissionPolicyBinding",
			Plural: "validatingadmissionpolicybindings", Singular: "validatingadmissionpolicybinding", Categories: categories,
			Object:   &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
			List:     &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			Strategy: validatingBindingRules, Default: DefaultValidatingBinding, Columns: validatingBindingColumns,
		},
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "ValidatingAdmissionPolicy",
			Plural: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Categories: categories,
			Object:   &admissionregistrationv1.ValidatingAdmissionPolicy{},
			List:     &admissionregistrationv1.ValidatingAdmissionPolicyList{},
			Strategy: newValidatingPolicyRules(), Default: DefaultValidatingPolicy, Columns: validatingPolicyColumns,
			Resets: []string{"status"},
			Subresources: []resource.Subresource{{
				Name: "status", Verbs: resource.SubresourceVerbs, Strategy: statusRules{newValidatingPolicyRules()},
				Resets: []string{"metadata", "spec"},
			}},
		},
		{
			GroupVersion: admissionregistrationv1.SchemeGroupVersion, Kind: "ValidatingWebhookConfiguration",
			Plural: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Categories: categories,
			Object:   &admissionregistrationv1.ValidatingWebhookConfiguration{},
			List:     &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			Strategy: validatingWebhookRules, Default: DefaultValidatingWebhooks, Columns: webhookColumns,
		},
	}
}
