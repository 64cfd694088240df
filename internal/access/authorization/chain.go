package authorization

import (
	"context"

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
