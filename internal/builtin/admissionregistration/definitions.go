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
			Object: &admissionregistrationv1.MutatingAdmissionPolicyBinding{}, Categories: categories,
			Strategy: mutatingBindingRules, Default: setDefaults, Columns: bindingColumns,
		},
		{
			Object: &admissionregistrationv1.MutatingAdmissionPolicy{}, Categories: categories,
			Strategy: mutatingPolicyRules, Default: setDefaults, Columns: mutatingPolicyColumns,
		},
		{
			Object: &admissionregistrationv1.MutatingWebhookConfiguration{}, Categories: categories,
			Strategy: mutatingWebhookRules, Default: setDefaults, Columns: webhookColumns,
		},
		{
			Object: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, Categories: categories,
			Strategy: validatingBindingRules, Default: setDefaults, Columns: bindingColumns,
		},
		{
			Object: &admissionregistrationv1.ValidatingAdmissionPolicy{}, Categories: categories,
			Strategy: validatingPolicyRules, Default: setDefaults, Columns: validatingPolicyColumns,
			Subresources: []resource.Subresource{{
				Name: "status", Strategy: validatingPolicyStatus,
				Resets: []string{"metadata", "spec"},
			}},
		},
		{
			Object: &admissionregistrationv1.ValidatingWebhookConfiguration{}, Categories: categories,
			Strategy: validatingWebhookRules, Default: setDefaults, Columns: webhookColumns,
		},
	}
}
