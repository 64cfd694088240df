package authorization

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

var _ authorizer.RuleResolver = &Authorizer{}

// anything is every verb, group, resource or path.
var anything = []string{"*"}

var (
	everyResource = &authorizer.DefaultResourceRuleInfo{Verbs: anything, APIGroups: anything, Resources: anything}
	everyPath     = &authorizer.DefaultNonResourceRuleInfo{Verbs: anything, NonResourceURLs: anything}
)

// RulesFor lists what a user may do in any namespace, as far as that is known without asking somebody else: with a webhook, a
// configuration file or a host cluster the list is incomplete.
func (a *Authorizer) RulesFor(_ context.Context, who user.Info, _ string) (
	resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo, incomplete bool, err error) {
	in := func(group string) bool { return slices.Contains(who.GetGroups(), group) }
	if slices.ContainsFunc(a.options.AlwaysAllowGroups, in) || slices.Contains(a.options.Modes, ModeAlwaysAllow) {
		resources, paths = append(resources, everyResource), append(paths, everyPath)
	}
	if len(a.options.AlwaysAllowPaths) > 0 {
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: anything, NonResourceURLs: a.options.AlwaysAllowPaths})
	}
	if in(user.AllAuthenticated) {
		for _, r := range selfReviews {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: []string{"create"}, APIGroups: []string{r.Group}, Resources: []string{r.Resource},
			})
		}
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: discoveryPaths})
	}
	asked := a.options.ConfigFile != "" || a.options.Kubeconfig != "" || slices.Contains(a.options.Modes, ModeWebhook)
	return resources, paths, asked, nil
}
