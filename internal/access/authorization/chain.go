package authorization

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationmetrics "k8s.io/apiserver/pkg/authorization/metrics"
	"k8s.io/apiserver/pkg/authorization/union"
)

// chain is authorizers in the order in which they are asked.
type chain []link

// link is one authorizer.
type link struct {
	name       string
	authorizer authorizer.Authorizer
	// rules lists the rules of the authorizer; nil if it has none to list.
	rules authorizer.RuleResolver
}

// decider is a complete chain. It asks the authorizers in order, until one allows or denies.
type decider struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// decider returns the chain as one authorizer.
func (c chain) decider() (*decider, error) {
	var (
		all   []union.NamedAuthorizer
		rules []authorizer.RuleResolver
	)
	for _, l := range c {
		all = append(all, union.NamedAuthorizer{AuthorizerName: l.name, Authorizer: l.authorizer})
		if l.rules != nil {
			rules = append(rules, l.rules)
		}
	}
	decides, err := union.New(all...)
	if err != nil {
		return nil, err
	}
	return &decider{decides, union.NewRuleResolvers(rules...)}, nil
}

// measured counts the decisions of a link in kube-apiserver's metrics.
func (l link) measured(mode string) link {
	l.authorizer = authorizationmetrics.InstrumentedAuthorizer(mode, l.name, l.authorizer)
	return l
}

// rulesFunc is a function as a RuleResolver.
type rulesFunc func(u user.Info) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo)

// RulesFor implements authorizer.RuleResolver. The rules are the same in all namespaces.
func (f rulesFunc) RulesFor(_ context.Context, u user.Info, _ string) (
	[]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	resources, paths := f(u)
	return resources, paths, false, nil
}

// noImpersonation is the reason of refusals.
const noImpersonation = ModeAlwaysAllow + " does not allow impersonation"

// alwaysAllow allows everything but impersonation. A user who may impersonate everybody can act as system:masters,
// and thereby pass the authorizers, webhooks and policies that are meant for that user. So only those who have the
// permission from elsewhere may impersonate: system:masters, and users whom another authorizer allows it.
var alwaysAllow = authorizer.AuthorizerFunc(
	func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.IsResourceRequest() && impersonates(a.GetVerb()) {
			return authorizer.DecisionNoOpinion, noImpersonation, nil
		}
		return authorizer.DecisionAllow, "", nil
	})

// impersonates reports whether a verb is one of those that are checked when a request impersonates a user. Those of
// constrained impersonation continue after a colon or a hyphen.
func impersonates(verb string) bool { return strings.HasPrefix(verb, "impersonate") }
