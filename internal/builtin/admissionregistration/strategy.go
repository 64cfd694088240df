package admissionregistration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// strategy has the rules of a kind. All of them have a generation, cannot be created by a PUT, and need a
// resourceVersion for an update.
type strategy struct {
	resource.Rules
	// desired returns the part of an object whose changes increment the generation.
	desired func(obj runtime.Object) any
	// validate returns the errors of an object; old is nil if it is new.
	validate func(obj, old runtime.Object) field.ErrorList
	// warn returns warnings of a valid object; nil for none.
	warn func(obj runtime.Object) []string
}

// PrepareForCreate sets the generation.
func (r strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(metav1.Object).SetGeneration(1)
}

// PrepareForUpdate increments the generation if the update changes more than metadata.
func (r strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if !equality.Semantic.DeepEqual(r.desired(obj), r.desired(old)) {
		obj.(metav1.Object).SetGeneration(old.(metav1.Object).GetGeneration() + 1)
	}
}

// Validate checks a new object, and that its name is not reserved for manifests in files.
func (r strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	errs := r.validate(obj, nil)
	if name := obj.(metav1.Object).GetName(); strings.HasSuffix(name, staticSuffix) {
		errs = append(errs, field.Invalid(metadataPath.Child("name"), name, reservedName))
	}
	return errs
}

// ValidateUpdate checks the changed object.
func (r strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return r.validate(obj, old)
}

const (
	// staticSuffix ends the names of objects in files.
	staticSuffix = ".static.k8s.io"
	reservedName = `names ending with "` + staticSuffix +
		`" are reserved for static manifest-based configurations and cannot be managed via the API`
)

// WarningsOnCreate warns of rules without effect.
func (r strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if r.warn == nil {
		return nil
	}
	return r.warn(obj)
}

// WarningsOnUpdate warns of rules without effect, and of a reserved name.
func (r strategy) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) (warnings []string) {
	if strings.HasSuffix(obj.(metav1.Object).GetName(), staticSuffix) {
		warnings = append(warnings, "metadata.name: "+reservedName)
	}
	return append(warnings, r.WarningsOnCreate(ctx, obj)...)
}

// AllowUnconditionalUpdate returns false.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

var validatingWebhookRules = webhookStrategy(func(obj runtime.Object) []hook {
	return validatingHooks(obj.(*admissionregistrationv1.ValidatingWebhookConfiguration))
})

var mutatingWebhookRules = webhookStrategy(func(obj runtime.Object) []hook {
	return mutatingHooks(obj.(*admissionregistrationv1.MutatingWebhookConfiguration))
})

// webhookStrategy returns the strategy of a kind of configurations, whose webhooks hooksOf returns.
func webhookStrategy(hooksOf func(obj runtime.Object) []hook) strategy {
	return strategy{
		desired: func(obj runtime.Object) any { return hooksOf(obj) },
		validate: func(obj, old runtime.Object) field.ErrorList {
			hooks, r := hooksOf(obj), webhookRules{}
			if old != nil {
				r = rulesForUpdate(hooks, hooksOf(old))
			}
			return r.validate(obj.(metav1.Object), hooks)
		},
		warn: func(obj runtime.Object) []string { return warnOfExcluded(hooksOf(obj)) },
	}
}

var mutatingPolicyRules = strategy{
	desired: func(obj runtime.Object) any { return obj.(*admissionregistrationv1.MutatingAdmissionPolicy).Spec },
	validate: func(obj, old runtime.Object) field.ErrorList {
		before, _ := old.(*admissionregistrationv1.MutatingAdmissionPolicy)
		return validateMutatingPolicy(obj.(*admissionregistrationv1.MutatingAdmissionPolicy), before)
	},
}

var validatingBindingRules = strategy{
	desired: func(obj runtime.Object) any {
		return obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec
	},
	validate: func(obj, _ runtime.Object) field.ErrorList {
		return ValidateValidatingBinding(obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding))
	},
}

var mutatingBindingRules = strategy{
	desired: func(obj runtime.Object) any {
		return obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding).Spec
	},
	validate: func(obj, _ runtime.Object) field.ErrorList {
		return ValidateMutatingBinding(obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding))
	},
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
		for m := range h.Rules {
			path := field.NewPath("webhooks").Index(n).Child("rules").Index(m)
			for _, excluded := range excludedBy(&h.Rules[m]) {
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
	seen := sets.New[schema.GroupResource]()
	for _, group := range rule.APIGroups {
		for _, plural := range rule.Resources {
			r := schema.GroupResource{Group: group, Resource: plural}
			if slices.Contains(Excluded, r) && !seen.Has(r) {
				seen.Insert(r)
				named = append(named, r)
			}
		}
	}
	return named
}
