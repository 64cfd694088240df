package authorization

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
)

// discoveryPaths are the paths that Kubernetes' ClusterRole system:discovery lets every authenticated user get.
var discoveryPaths = []string{
	"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/readyz", "/openapi", "/openapi/*",
	"/version", "/version/",
}

// monitoringPaths are the paths that Kubernetes' ClusterRole system:monitoring lets the group of that name get.
var monitoringPaths = []string{
	"/metrics", "/metrics/slis", "/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*",
}

// selfReviews are the resources that Kubernetes' ClusterRole system:basic-user lets every authenticated user create.
var selfReviews = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
}

// always returns the rules that come first in any case.
func (o *Options) always() (chain, error) {
	open, err := path.NewAuthorizer(o.AlwaysAllowPaths)
	if err != nil {
		return nil, fmt.Errorf("--authorization-always-allow-paths: %w", err)
	}
	masters := authorizerfactory.NewPrivilegedGroups(o.AlwaysAllowGroups...)
	return chain{
		{name: "built-in/groups", authorizer: masters},
		{name: "built-in/paths", authorizer: open, rules: rulesFunc(o.openPaths)},
	}, nil
}

// withoutRoles returns the rules for a server that does not use roles. With RBAC, default roles say the same, and an
// administrator can change them. There are none if the modes decide alone.
func (o *Options) withoutRoles() (chain, error) {
	if o.OnlyModes {
		return nil, nil
	}
	discovery, err := getPaths(user.AllAuthenticated, discoveryPaths)
	if err != nil {
		return nil, err
	}
	monitoring, err := getPaths(user.MonitoringGroup, monitoringPaths)
	if err != nil {
		return nil, err
	}
	return chain{
		{name: "built-in/discovery", authorizer: discovery, rules: rulesFunc(o.builtInRules)},
		{name: "built-in/self-reviews", authorizer: authorizer.AuthorizerFunc(reviewSelf)},
		{name: "built-in/monitoring", authorizer: monitoring},
	}, nil
}

// getPaths returns an authorizer that allows a group to get paths.
func getPaths(group string, paths []string) (authorizer.Authorizer, error) {
	named, err := path.NewAuthorizer(paths)
	if err != nil {
		return nil, err
	}
	return authorizer.AuthorizerFunc(
		func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() != "get" || a.IsResourceRequest() || !isIn(a.GetUser(), group) {
				return authorizer.DecisionNoOpinion, "", nil
			}
			return named.Authorize(ctx, a)
		}), nil
}

// reviewSelf allows authenticated users to create reviews of themselves.
func reviewSelf(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}
	if a.GetVerb() == "create" && a.IsResourceRequest() && a.GetSubresource() == "" &&
		slices.Contains(selfReviews, asked) && isIn(a.GetUser(), user.AllAuthenticated) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func isIn(u user.Info, group string) bool { return u != nil && slices.Contains(u.GetGroups(), group) }
