package server

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
)

// discoveryPaths is what the ClusterRole system:discovery of Kubernetes lets every authenticated user get.
var discoveryPaths = []string{
	"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/readyz", "/openapi", "/openapi/*", "/version", "/version/",
}

// newAuthorizer is the rule of a server that stands alone, without roles: system:masters may do everything, everybody may
// ask for health, authenticated users may discover, and nothing else is allowed.
func newAuthorizer() (authorizer.Authorizer, error) {
	health, err := path.NewAuthorizer(healthPaths)
	if err != nil {
		return nil, err
	}
	discovery, err := path.NewAuthorizer(discoveryPaths)
	if err != nil {
		return nil, err
	}
	forAuthenticated := authorizer.AuthorizerFunc(
		func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() != "get" || a.GetUser() == nil || !slices.Contains(a.GetUser().GetGroups(), user.AllAuthenticated) {
				return authorizer.DecisionNoOpinion, "", nil
			}
			return discovery.Authorize(ctx, a)
		})
	return union.New(
		union.NamedAuthorizer{
			AuthorizerName: "masters",
			Authorizer:     authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
		},
		union.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
		union.NamedAuthorizer{AuthorizerName: "discovery", Authorizer: forAuthenticated},
	)
}
