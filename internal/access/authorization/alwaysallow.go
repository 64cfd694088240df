package authorization

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

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
