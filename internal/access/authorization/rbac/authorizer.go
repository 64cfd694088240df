package rbac

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer answers requests by an Index. Decisions and reasons are those of kube-apiserver's RBAC authorizer.
type Authorizer struct{ index *Index }

var (
	_ authorizer.Authorizer   = Authorizer{}
	_ authorizer.RuleResolver = Authorizer{}
)

// NewAuthorizer returns an authorizer by an index.
func NewAuthorizer(index *Index) Authorizer { return Authorizer{index} }

// Authorize implements authorizer.Authorizer. It allows, or has no opinion.
func (z Authorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	u := a.GetUser()
	if u == nil {
		return authorizer.DecisionNoOpinion, "", errNoUser
	}
	allowed, reason := z.index.current.Load().decide(identify(u), a)
	if allowed == nil {
		return authorizer.DecisionNoOpinion, reason, nil
	}
	return authorizer.DecisionAllow, allowed.reason(), nil
}

var errNoUser = errors.New("RBAC: the request has no user")

// ConditionsAwareAuthorize implements authorizer.Authorizer: roles have no conditions.
func (z Authorizer) ConditionsAwareAuthorize(
	ctx context.Context, a authorizer.Attributes,
) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(z.Authorize(ctx, a))
}

// EvaluateConditions implements authorizer.Authorizer.
func (z Authorizer) EvaluateConditions(
	context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData,
) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver: it lists the rules of a user for reviews.
func (z Authorizer) RulesFor(ctx context.Context, u user.Info, namespace string) (
	resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo, incomplete bool, err error) {
	rules, err := z.index.RulesFor(ctx, u, namespace)
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs,
				NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return resources, paths, false, err
}
