package authorization

import (
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

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

// alwaysAllowRules returns the rules of alwaysAllow.
func alwaysAllowRules(user.Info) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo) {
	return []authorizer.ResourceRuleInfo{everyVerbButImpersonate}, []authorizer.NonResourceRuleInfo{everyPath}
}

// openPaths returns the rule of the paths that are open to everybody.
func (o *Options) openPaths(user.Info) (_ []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo) {
	if len(o.AlwaysAllowPaths) > 0 {
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: anything, NonResourceURLs: o.AlwaysAllowPaths})
	}
	return nil, paths
}

// builtInRules returns the rules of a server without roles. With roles, those of the privileged group come from the
// role cluster-admin, as upstream.
func (o *Options) builtInRules(
	u user.Info,
) (resources []authorizer.ResourceRuleInfo, paths []authorizer.NonResourceRuleInfo) {
	in := func(group string) bool { return slices.Contains(u.GetGroups(), group) }
	get := []string{"get"}
	if slices.ContainsFunc(o.AlwaysAllowGroups, in) {
		resources, paths = append(resources, everyResource), append(paths, everyPath)
	}
	if in(user.AllAuthenticated) {
		for _, r := range selfReviews {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: []string{"create"}, APIGroups: []string{r.Group}, Resources: []string{r.Resource},
			})
		}
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: get, NonResourceURLs: discoveryPaths})
	}
	if in(user.MonitoringGroup) {
		paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: get, NonResourceURLs: monitoringPaths})
	}
	return resources, paths
}
