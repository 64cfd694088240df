package admissionregistration

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// hook is a mutating or validating webhook.
type hook = webhook.WebhookAccessor

func validatingHooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) (hooks []hook) {
	for n := range c.Webhooks {
		hooks = append(hooks, webhook.NewValidatingWebhookAccessor("", "", &c.Webhooks[n]))
	}
	return hooks
}

func mutatingHooks(c *admissionregistrationv1.MutatingWebhookConfiguration) (hooks []hook) {
	for n := range c.Webhooks {
		hooks = append(hooks, webhook.NewMutatingWebhookAccessor("", "", &c.Webhooks[n]))
	}
	return hooks
}

// validateWebhooks returns the errors of a configuration of webhooks, which had other ones before.
func validateWebhooks(meta metav1.Object, hooks, before []hook) field.ErrorList {
	c := compiler{stored: sets.New[string]()}
	for _, h := range before {
		for _, condition := range h.GetMatchConditions() {
			c.stored.Insert(condition.Expression)
		}
	}
	// Conditions that an update does not change are not compiled again.
	same := slices.EqualFunc(hooks, before, func(h, old hook) bool {
		return slices.Equal(h.GetMatchConditions(), old.GetMatchConditions())
	})
	errs, unique := validateMeta(meta), rules.Unique[string]()
	for n, h := range hooks {
		path := field.NewPath("webhooks").Index(n)
		errs = append(errs, validateHook(h, path)...)
		if !same {
			errs = append(errs, c.checkConditions(h.GetMatchConditions(), path.Child("matchConditions"))...)
		}
		errs = append(errs, validateReviewVersions(h.GetAdmissionReviewVersions(), path.Child("admissionReviewVersions"))...)
		if h.GetName() != "" {
			errs = append(errs, unique(h.GetName(), path.Child("name"))...)
		}
	}
	return errs
}

func validateHook(h hook, path *field.Path) field.ErrorList {
	client, timeout := h.GetClientConfig(), ptr.Deref(h.GetTimeoutSeconds(), webhookTimeout)
	var reinvocation *admissionregistrationv1.ReinvocationPolicyType
	if mutating, ok := h.GetMutatingWebhook(); ok {
		reinvocation = mutating.ReinvocationPolicy
	}
	return slices.Concat(
		utilvalidation.IsFullyQualifiedName(path.Child("name"), h.GetName()),
		rules.Each(h.GetRules(), path.Child("rules"), validateRule),
		validateEnum(h.GetFailurePolicy(), failurePolicies, path.Child("failurePolicy")),
		validateEnum(h.GetMatchPolicy(), matchPolicies, path.Child("matchPolicy")),
		validateSideEffects(h.GetSideEffects(), path.Child("sideEffects")),
		rules.When(timeout < 1 || timeout > 30, field.Invalid(path.Child("timeoutSeconds"), timeout,
			"the timeout value must be between 1 and 30 seconds")),
		validateSelector(h.GetNamespaceSelector(), path.Child("namespaceSelector")),
		validateSelector(h.GetObjectSelector(), path.Child("objectSelector")),
		validateEnum(reinvocation, reinvocationPolicies, path.Child("reinvocationPolicy")),
		validateClientConfig(&client, path.Child("clientConfig")),
	)
}

func validateClientConfig(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch service := c.Service; {
	case (c.URL == nil) == (service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhookutil.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	default:
		port := ptr.Deref(service.Port, servicePort)
		return webhookutil.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path, port)
	}
}

func validateSideEffects(class *admissionregistrationv1.SideEffectClass, path *field.Path) field.ErrorList {
	if class == nil {
		return field.ErrorList{field.Required(path, "must specify one of None, NoneOnDryRun")}
	}
	return rules.Known(*class, path, // sorted as the error lists them
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun)
}

// reviewVersions are the versions of AdmissionReview that the plugins send.
var reviewVersions = []string{"v1", "v1beta1"}

func validateReviewVersions(versions []string, path *field.Path) (errs field.ErrorList) {
	known := strings.Join(reviewVersions, ", ")
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+known)}
	}
	seen := sets.New[string]()
	for n, version := range versions {
		if seen.Has(version) {
			errs = append(errs, field.Invalid(path.Index(n), version, "duplicate version"))
			continue
		}
		seen.Insert(version)
		errs = append(errs, rules.Messages(path.Index(n), version, utilvalidation.IsDNS1035Label(version))...)
	}
	if !seen.HasAny(reviewVersions...) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+known))
	}
	return errs
}
