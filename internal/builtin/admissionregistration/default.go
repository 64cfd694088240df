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

// DefaultValidatingWebhooks sets the defaults of a ValidatingWebhookConfiguration.
func DefaultValidatingWebhooks(obj runtime.Object) {
	webhooks := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks
	for n := range webhooks {
		w := &webhooks[n]
		resource.Default(&w.FailurePolicy, admissionregistrationv1.Fail)
		resource.Default(&w.TimeoutSeconds, webhookTimeout)
		defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		defaultService(w.ClientConfig.Service)
		defaultRules(w.Rules)
	}
}

// DefaultMutatingWebhooks sets the defaults of a MutatingWebhookConfiguration.
func DefaultMutatingWebhooks(obj runtime.Object) {
	webhooks := obj.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks
	for n := range webhooks {
		w := &webhooks[n]
		resource.Default(&w.FailurePolicy, admissionregistrationv1.Fail)
		resource.Default(&w.TimeoutSeconds, webhookTimeout)
		resource.Default(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		defaultService(w.ClientConfig.Service)
		defaultRules(w.Rules)
	}
}

// DefaultValidatingPolicy sets the defaults of a ValidatingAdmissionPolicy.
func DefaultValidatingPolicy(obj runtime.Object) {
	spec := &obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec
	resource.Default(&spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultResources(spec.MatchConstraints)
}

// DefaultMutatingPolicy sets the defaults of a MutatingAdmissionPolicy.
func DefaultMutatingPolicy(obj runtime.Object) {
	spec := &obj.(*admissionregistrationv1.MutatingAdmissionPolicy).Spec
	resource.Default(&spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultResources(spec.MatchConstraints)
}

// DefaultValidatingBinding sets the defaults of a ValidatingAdmissionPolicyBinding.
func DefaultValidatingBinding(obj runtime.Object) {
	defaultResources(obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.MatchResources)
}

// DefaultMutatingBinding sets the defaults of a MutatingAdmissionPolicyBinding.
func DefaultMutatingBinding(obj runtime.Object) {
	defaultResources(obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding).Spec.MatchResources)
}

func defaultMatch(policy **admissionregistrationv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	resource.Default(policy, admissionregistrationv1.Equivalent)
	resource.Default(namespaces, metav1.LabelSelector{})
	resource.Default(objects, metav1.LabelSelector{})
}

func defaultService(service *admissionregistrationv1.ServiceReference) {
	if service != nil {
		resource.Default(&service.Port, servicePort)
	}
}

func defaultRules(rules []admissionregistrationv1.RuleWithOperations) {
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
