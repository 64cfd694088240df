package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// hook is a mutating or validating webhook.
type hook struct {
	*admissionregistrationv1.ValidatingWebhook
	// Reinvocation is nil for a validating webhook.
	Reinvocation *admissionregistrationv1.ReinvocationPolicyType
}

func validatingHooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) []hook {
	hooks := make([]hook, len(c.Webhooks))
	for n := range c.Webhooks {
		hooks[n].ValidatingWebhook = &c.Webhooks[n]
	}
	return hooks
}

func mutatingHooks(c *admissionregistrationv1.MutatingWebhookConfiguration) []hook {
	hooks := make([]hook, len(c.Webhooks))
	for n := range c.Webhooks {
		w := &c.Webhooks[n]
		hooks[n] = hook{&admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}, w.ReinvocationPolicy}
	}
	return hooks
}

// ValidateValidatingWebhooks returns the errors of a new ValidatingWebhookConfiguration.
func ValidateValidatingWebhooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhookRules{}.validate(c, validatingHooks(c))
}

// ValidateMutatingWebhooks returns the errors of a new MutatingWebhookConfiguration.
func ValidateMutatingWebhooks(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhookRules{}.validate(c, mutatingHooks(c))
}

// webhookRules are the rules of a configuration.
type webhookRules struct {
	// sameConditions: an update changes no match conditions, so they are not compiled again.
	sameConditions bool
	// before are the expressions of the former configuration.
	before stored
}

// rulesForUpdate returns the rules for an update of the webhooks before.
func rulesForUpdate(hooks, before []hook) webhookRules {
	r := webhookRules{before: stored{}}
	for _, h := range before {
		for _, condition := range h.MatchConditions {
			sets.Set[string](r.before).Insert(condition.Expression)
		}
	}
	r.sameConditions = slices.EqualFunc(hooks, before, func(h, old hook) bool {
		return slices.Equal(h.MatchConditions, old.MatchConditions)
	})
	return r
}

func (r webhookRules) validate(meta metav1.Object, hooks []hook) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(meta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	names := sets.New[string]()
	for n, h := range hooks {
		path := field.NewPath("webhooks").Index(n)
		errs = append(errs, r.validateHook(h, path)...)
		errs = append(errs, validateReviewVersions(h.AdmissionReviewVersions, path.Child("admissionReviewVersions"))...)
		if h.Name != "" && names.Has(h.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), h.Name))
		}
		names.Insert(h.Name)
	}
	return errs
}

func (r webhookRules) validateHook(h hook, path *field.Path) field.ErrorList {
	errs := utilvalidation.IsFullyQualifiedName(path.Child("name"), h.Name)
	for n := range h.Rules {
		errs = append(errs, validateRule(&h.Rules[n], path.Child("rules").Index(n))...)
	}
	errs = append(errs, validateEnum(h.FailurePolicy, failurePolicies, path.Child("failurePolicy"))...)
	errs = append(errs, validateEnum(h.MatchPolicy, matchPolicies, path.Child("matchPolicy"))...)
	errs = append(errs, validateSideEffects(h.SideEffects, path.Child("sideEffects"))...)
	if timeout := h.TimeoutSeconds; timeout != nil && (*timeout > 30 || *timeout < 1) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *timeout,
			"the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, validateSelectors(h, path)...)
	errs = append(errs, validateEnum(h.Reinvocation, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
	errs = append(errs, validateClientConfig(&h.ClientConfig, path.Child("clientConfig"))...)
	if r.sameConditions {
		return errs
	}
	c := conditions{list: h.MatchConditions, before: r.before}
	return append(errs, c.validate(path.Child("matchConditions"))...)
}

func validateSelectors(h hook, path *field.Path) field.ErrorList {
	strict := metav1validation.LabelSelectorValidationOptions{}
	errs := metav1validation.ValidateLabelSelector(h.NamespaceSelector, strict, path.Child("namespaceSelector"))
	return append(errs, metav1validation.ValidateLabelSelector(h.ObjectSelector, strict, path.Child("objectSelector"))...)
}

func validateClientConfig(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch service := c.Service; {
	case (c.URL == nil) == (service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	default:
		port := servicePort
		if service.Port != nil {
			port = *service.Port
		}
		return webhook.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path, port)
	}
}

// noSideEffects are the values of sideEffects, sorted as errors list them.
var noSideEffects = []admissionregistrationv1.SideEffectClass{
	admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
}

func validateSideEffects(class *admissionregistrationv1.SideEffectClass, path *field.Path) field.ErrorList {
	if class == nil {
		return field.ErrorList{field.Required(path, "must specify one of None, NoneOnDryRun")}
	}
	return validateEnum(class, noSideEffects, path)
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
		errs = append(errs, field.Invalid(path, versions, fmt.Sprintf("must include at least one of %s", known)))
	}
	return errs
}
