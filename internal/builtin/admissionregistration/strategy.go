package admissionregistration

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// object is a pointer to a type of the group.
type object[T any] interface {
	*T
	metav1.Object
	runtime.Object
}

const (
	// staticSuffix ends the names of objects in files.
	staticSuffix = ".static.k8s.io"
	reservedName = `names ending with "` + staticSuffix +
		`" are reserved for static manifest-based configurations and cannot be managed via the API`
)

// newStrategy returns the rules of a kind. All of them have a generation, cannot be created by a PUT, and need a
// resourceVersion for an update. desired returns the part of an object whose changes increment the generation. validate
// returns the errors of an update; a new object is an update of an empty one.
func newStrategy[T any, P object[T]](
	desired func(obj P) any, validate func(obj, old P) field.ErrorList,
) resource.Typed[P] {
	return resource.Typed[P]{
		Prepare: func(obj P) { obj.SetGeneration(1) },
		Check: func(obj P) field.ErrorList {
			return append(validate(obj, new(T)), rules.When(strings.HasSuffix(obj.GetName(), staticSuffix),
				field.Invalid(metadataPath.Child("name"), obj.GetName(), reservedName))...)
		},
		PrepareUpdate: func(obj, old P) {
			if !equality.Semantic.DeepEqual(desired(obj), desired(old)) {
				obj.SetGeneration(old.GetGeneration() + 1)
			}
		},
		CheckUpdate: validate,
		WarnUpdate: func(obj, _ P) []string {
			if strings.HasSuffix(obj.GetName(), staticSuffix) {
				return []string{"metadata.name: " + reservedName}
			}
			return nil
		},
		RequiresVersion: true,
	}
}

// newWebhookStrategy returns the rules of a kind of configurations, whose webhooks hooksOf returns.
func newWebhookStrategy[T any, P object[T]](desired func(obj P) any, hooksOf func(obj P) []hook) resource.Typed[P] {
	s := newStrategy(desired, func(obj, old P) field.ErrorList {
		return validateWebhooks(obj, hooksOf(obj), hooksOf(old))
	})
	warnOfName := s.WarnUpdate
	s.Warn = func(obj P) []string { return warnOfExcluded(hooksOf(obj)) }
	s.WarnUpdate = func(obj, old P) []string { return append(warnOfName(obj, old), s.Warn(obj)...) }
	return s
}

var (
	validatingWebhookRules = newWebhookStrategy(
		func(c *admissionregistrationv1.ValidatingWebhookConfiguration) any { return c.Webhooks }, validatingHooks)
	mutatingWebhookRules = newWebhookStrategy(
		func(c *admissionregistrationv1.MutatingWebhookConfiguration) any { return c.Webhooks }, mutatingHooks)
	validatingBindingRules = newStrategy(
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) any { return b.Spec }, validateValidatingBinding)
	mutatingBindingRules = newStrategy(
		func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) any { return b.Spec }, validateMutatingBinding)
	mutatingPolicyRules = newStrategy(
		func(p *admissionregistrationv1.MutatingAdmissionPolicy) any { return p.Spec }, validateMutatingPolicy)

	validatingPolicyRules, validatingPolicyStatus = newValidatingPolicyRules()
)

// newValidatingPolicyRules returns the rules of ValidatingAdmissionPolicies, which have a status, and those of it.
func newValidatingPolicyRules() (spec, status resource.Typed[*admissionregistrationv1.ValidatingAdmissionPolicy]) {
	spec = newStrategy(
		func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any { return p.Spec }, validateValidatingPolicy)
	status = spec
	spec.Prepare = resource.Begin[*admissionregistrationv1.ValidatingAdmissionPolicy]
	spec.PrepareUpdate = resource.Follow[*admissionregistrationv1.ValidatingAdmissionPolicy]
	status.PrepareUpdate = func(p, old *admissionregistrationv1.ValidatingAdmissionPolicy) {
		p.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
	}
	status.CheckUpdate = validatePolicyStatus
	return spec, status
}

// Complete sets the defaults of an object in a manifest, and returns its errors.
func Complete(obj runtime.Object) field.ErrorList {
	setDefaults(obj)
	for _, d := range Definitions() {
		if reflect.TypeOf(d.Object) == reflect.TypeOf(obj) {
			return d.Strategy.ValidateUpdate(context.Background(), obj, d.Object)
		}
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("no rule of admission is a %T", obj))}
}

// Excluded are the resources that no webhook and no policy of the API sees: a mistake in one would lock everybody out.
var Excluded = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// warnOfExcluded warns of rules that name an excluded resource.
func warnOfExcluded(hooks []hook) (warnings []string) {
	for n, h := range hooks {
		for m, rule := range h.GetRules() {
			path := field.NewPath("webhooks").Index(n).Child("rules").Index(m)
			for _, excluded := range excludedBy(&rule) {
				warnings = append(warnings, fmt.Sprintf(
					"%s: %s is excluded from admission webhooks; this rule will have no effect", path, excluded))
			}
		}
	}
	return warnings
}

// excludedBy returns the excluded resources that a rule without wildcards names.
func excludedBy(rule *admissionregistrationv1.RuleWithOperations) (named []schema.GroupResource) {
	if slices.Contains(rule.APIGroups, wildcard) || slices.Contains(rule.Resources, wildcard) {
		return nil
	}
	for _, group := range rule.APIGroups {
		for _, plural := range rule.Resources {
			r := schema.GroupResource{Group: group, Resource: plural}
			if slices.Contains(Excluded, r) && !slices.Contains(named, r) {
				named = append(named, r)
			}
		}
	}
	return named
}
