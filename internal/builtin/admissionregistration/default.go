package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Defaults of webhooks.
const (
	webhookTimeout int32 = 10 // seconds
	servicePort    int32 = 443
)

// setDefaults sets the defaults of an object of the group.
func setDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for n, hook := range validatingHooks(o) {
			w := &o.Webhooks[n]
			resource.Default(&w.FailurePolicy, admissionregistrationv1.Fail)
			resource.Default(&w.TimeoutSeconds, webhookTimeout)
			defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
			defaultHook(hook)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for n, hook := range mutatingHooks(o) {
			w := &o.Webhooks[n]
			resource.Default(&w.FailurePolicy, admissionregistrationv1.Fail)
			resource.Default(&w.TimeoutSeconds, webhookTimeout)
			resource.Default(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
			defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
			defaultHook(hook)
		}
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		resource.Default(&o.Spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultResources(o.Spec.MatchConstraints)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		resource.Default(&o.Spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultResources(o.Spec.MatchConstraints)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		defaultResources(o.Spec.MatchResources)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		defaultResources(o.Spec.MatchResources)
	}
}

func defaultMatch(policy **admissionregistrationv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	resource.Default(policy, admissionregistrationv1.Equivalent)
	resource.Default(namespaces, metav1.LabelSelector{})
	resource.Default(objects, metav1.LabelSelector{})
}

// defaultHook sets the defaults of the service and the rules of a webhook.
func defaultHook(h hook) {
	if service := h.GetClientConfig().Service; service != nil {
		resource.Default(&service.Port, servicePort)
	}
	rules := h.GetRules()
	for n := range rules {
		resource.Default(&rules[n].Scope, admissionregistrationv1.AllScopes)
	}
}

func defaultResources(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	defaultMatch(&m.MatchPolicy, &m.NamespaceSelector, &m.ObjectSelector)
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for n := range rules {
			resource.Default(&rules[n].Scope, admissionregistrationv1.AllScopes)
		}
	}
}
