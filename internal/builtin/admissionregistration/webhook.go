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
)

// hook is a mutating or validating webhook.
type hook struct {
	*admissionregistrationv1.ValidatingWebhook
	// reinvocation is nil for a validating webhook.
	reinvocation *admissionregistrationv1.ReinvocationPolicyType
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
	return leniency{}.validate(&c.ObjectMeta, validatingHooks(c))
}

// ValidateMutatingWebhooks returns the errors of a new MutatingWebhookConfiguration.
func ValidateMutatingWebhooks(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return leniency{}.validate(&c.ObjectMeta, mutatingHooks(c))
}

// leniency is what an update may keep because the configuration had it before, when it was allowed. A new configuration
// gets none.
type leniency struct {
	sideEffects, reviewVersions, sameNames, selectors, conditions bool
	// before are the expressions of the former configuration.
	before stored
}

// lenient returns the leniency for an update.
func lenient(hooks, before []hook) leniency {
	l := leniency{before: stored{}}
	names := sets.New[string]()
	for _, h := range before {
		l.sideEffects = l.sideEffects || h.SideEffects == nil || !slices.Contains(noSideEffects, *h.SideEffects)
		l.reviewVersions = l.reviewVersions || len(h.AdmissionReviewVersions) > 0 && !reviewable(h.AdmissionReviewVersions)
		l.sameNames = l.sameNames || names.Has(h.Name)
		l.selectors = l.selectors || len(leniency{}.validateSelectors(h, nil)) > 0
		names.Insert(h.Name)
		for _, condition := range h.MatchConditions {
			sets.Set[string](l.before).Insert(condition.Expression)
		}
	}
	l.conditions = slices.EqualFunc(hooks, before, func(h, old hook) bool {
		return slices.Equal(h.MatchConditions, old.MatchConditions)
	})
	return l
}

func (l leniency) validate(meta *metav1.ObjectMeta, hooks []hook) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	names := sets.New[string]()
	for n, h := range hooks {
		path := field.NewPath("webhooks").Index(n)
		errs = append(errs, l.validateHook(h, path)...)
		errs = append(errs, l.validateReviewVersions(h.AdmissionReviewVersions, path.Child("admissionReviewVersions"))...)
		if !l.sameNames && h.Name != "" && names.Has(h.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), h.Name))
		}
		names.Insert(h.Name)
	}
	return errs
}

func (l leniency) validateHook(h hook, path *field.Path) field.ErrorList {
	errs := utilvalidation.IsFullyQualifiedName(path.Child("name"), h.Name)
	for n := range h.Rules {
		errs = append(errs, validateRule(&h.Rules[n], path.Child("rules").Index(n))...)
	}
	errs = append(errs, validateEnum(h.FailurePolicy, failurePolicies, path.Child("failurePolicy"))...)
	errs = append(errs, validateEnum(h.MatchPolicy, matchPolicies, path.Child("matchPolicy"))...)
	errs = append(errs, l.validateSideEffects(h.SideEffects, path.Child("sideEffects"))...)
	if timeout := h.TimeoutSeconds; timeout != nil && (*timeout > 30 || *timeout < 1) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *timeout,
			"the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, l.validateSelectors(h, path)...)
	errs = append(errs, validateEnum(h.reinvocation, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
	errs = append(errs, validateClientConfig(&h.ClientConfig, path.Child("clientConfig"))...)
	if l.conditions {
		return errs
	}
	c := conditions{list: h.MatchConditions, before: l.before}
	return append(errs, c.validate(path.Child("matchConditions"))...)
}

func (l leniency) validateSelectors(h hook, path *field.Path) (errs field.ErrorList) {
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: l.selectors}
	errs = metav1validation.ValidateLabelSelector(h.NamespaceSelector, options, path.Child("namespaceSelector"))
	return append(errs, metav1validation.ValidateLabelSelector(h.ObjectSelector, options, path.Child("objectSelector"))...)
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

// The values of sideEffects, sorted as errors list them. Those of a new webhook must be among noSideEffects.
var (
	noSideEffects = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
	}
	sideEffects = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
		admissionregistrationv1.SideEffectClassSome, admissionregistrationv1.SideEffectClassUnknown,
	}
)

func (l leniency) validateSideEffects(class *admissionregistrationv1.SideEffectClass, path *field.Path) field.ErrorList {
	allowed := noSideEffects
	if l.sideEffects {
		allowed = sideEffects
	}
	if class == nil {
		names := make([]string, len(allowed))
		for n := range allowed {
			names[n] = string(allowed[n])
		}
		return field.ErrorList{field.Required(path, "must specify one of "+strings.Join(names, ", "))}
	}
	return validateEnum(class, allowed, path)
}

// reviewVersions are the versions of AdmissionReview that the plugins send.
var reviewVersions = []string{"v1", "v1beta1"}

func reviewable(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions, v) })
}

func (l leniency) validateReviewVersions(versions []string, path *field.Path) (errs field.ErrorList) {
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
		for _, message := range utilvalidation.IsDNS1035Label(version) {
			errs = append(errs, field.Invalid(path.Index(n), version, message))
		}
	}
	if !l.reviewVersions && !reviewable(versions) {
		errs = append(errs, field.Invalid(path, versions, fmt.Sprintf("must include at least one of %s", known)))
	}
	return errs
}
