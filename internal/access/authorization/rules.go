package authorization

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

var _ authorizer.RuleResolver = &Authorizer{}

// anything stands for every verb, group, resource or path.
var anything = []string{"*"}

var (
	everyResource = &authorizer.DefaultResourceRuleInfo{Verbs: anything, APIGroups: anything, Resources: anything}
	// everyVerbButImpersonate has the verbs of requests, because a rule cannot name those that it leaves out.
	everyVerbButImpersonate = &authorizer.DefaultResourceRuleInfo{
		Verbs:     []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		APIGroups: anything, Resources: anything,
	}
	everyPath = &authorizer.DefaultNonResourceRuleInfo{Verbs: anything, NonResourceURLs: anything}
)

// RulesFor returns the rules for a user, which are the same in all namespaces. The list is incomplete with a webhook,
// a configuration file or a host cluster, because their rules are not known.
func (a *Authorizer) RulesFor(_ context.Context, caller user.Info, _ string) (
	resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo, incomplete bool, err error) {
	in := func(group string) bool { return slices.Contains(caller.GetGroups(), group) }
	switch {
	case slices.ContainsFunc(a.options.AlwaysAllowGroups, in):
		resources, paths = append(resources, everyResource), append(paths, everyPath)
	case slices.Contains(a.options.Modes, ModeAlwaysAllow):
		resources, paths = append(resources, everyVerbButImpersonate), append(paths, everyPath)
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
	if in(user.MonitoringGroup) {
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: monitoringPaths})
	}
	asked := a.options.ConfigFile != "" || a.options.Kubeconfig != "" || slices.Contains(a.options.Modes, ModeWebhook)
	return resources, paths, asked, nil
}
