package reviews

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// self returns the caller.
func (h *handler) self(_ context.Context, caller user.Info, _ runtime.Object) (runtime.Object, error) {
	r := &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
	r.Status.UserInfo = userInfo(caller)
	return r, nil
}

// selfAccess decides whether the caller may do something.
func (h *handler) selfAccess(ctx context.Context, caller user.Info, obj runtime.Object) (runtime.Object, error) {
	r := obj.(*authorizationv1.SelfSubjectAccessReview)
	errs := checkOne(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	errs = append(errs, checkSelectors(r.Spec.ResourceAttributes)...)
	if err := invalid(append(errs, checkMetadata(r.ObjectMeta)...)); err != nil {
		return nil, err
	}
	r.Status = h.decide(ctx, caller, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	return r, nil
}

// access decides whether the user of the review may do something.
func (h *handler) access(ctx context.Context, _ user.Info, obj runtime.Object) (runtime.Object, error) {
	r := obj.(*authorizationv1.SubjectAccessReview)
	if err := invalid(append(checkSpec(&r.Spec), checkMetadata(r.ObjectMeta)...)); err != nil {
		return nil, err
	}
	r.Status = h.decide(ctx, subject(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	return r, nil
}

// localAccess decides whether the user of the review may do something in the namespace of the request.
func (h *handler) localAccess(ctx context.Context, _ user.Info, obj runtime.Object) (runtime.Object, error) {
	r := obj.(*authorizationv1.LocalSubjectAccessReview)
	errs := checkSpec(&r.Spec)
	meta := r.ObjectMeta
	meta.Namespace = ""
	for _, err := range checkMetadata(meta) {
		errs = append(errs, field.Invalid(field.NewPath(err.Field), err.BadValue, "must be empty except for namespace"))
	}
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace,
			"must match metadata.namespace"))
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), shown(a),
			"disallowed on this kind of request"))
	}
	if err := invalid(errs); err != nil {
		return nil, err
	}
	r.Status = h.decide(ctx, subject(&r.Spec), r.Spec.ResourceAttributes, nil)
	return r, nil
}

// selfRules returns the rules for the caller in a namespace, as far as the authorizer knows them.
func (h *handler) selfRules(ctx context.Context, caller user.Info, obj runtime.Object) (runtime.Object, error) {
	r := obj.(*authorizationv1.SelfSubjectRulesReview)
	if r.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	resources, others, incomplete, err := h.decides.RulesFor(ctx, caller, r.Spec.Namespace)
	answer := &authorizationv1.SelfSubjectRulesReview{Status: authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    make([]authorizationv1.ResourceRule, 0, len(resources)),
		NonResourceRules: make([]authorizationv1.NonResourceRule, 0, len(others)),
		Incomplete:       incomplete,
	}}
	for _, rule := range resources {
		answer.Status.ResourceRules = append(answer.Status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(),
			ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range others {
		answer.Status.NonResourceRules = append(answer.Status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
		})
	}
	if err != nil {
		answer.Status.EvaluationError = err.Error()
	}
	return answer, nil
}

// decide asks the authorizer. Either resource or other is nil.
func (h *handler) decide(ctx context.Context, who user.Info, resource *authorizationv1.ResourceAttributes,
	other *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	attributes, evaluation := attributesOf(who, resource, other)
	decision, reason, err := h.decides.Authorize(ctx, attributes)
	if err != nil {
		evaluation = append([]string{err.Error()}, evaluation...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed:         decision == authorizer.DecisionAllow,
		Denied:          decision == authorizer.DecisionDeny,
		Reason:          reason,
		EvaluationError: joined(evaluation),
	}
}

func subject(spec *authorizationv1.SubjectAccessReviewSpec) user.Info {
	who := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID}
	for key, values := range spec.Extra {
		if who.Extra == nil {
			who.Extra = map[string][]string{}
		}
		who.Extra[key] = values
	}
	return who
}
