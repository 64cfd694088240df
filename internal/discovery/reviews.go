package discovery

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
)

var creates = []string{"create"}

// reviews are the resources whose objects are not stored: a POST is answered with the posted review and its status.
var reviews = builtin.Complete([]*builtin.Definition{
	{Object: &authenticationv1.SelfSubjectReview{}, Verbs: creates},
	{Object: &authenticationv1.TokenReview{}, Verbs: creates},
	{Object: &authorizationv1.LocalSubjectAccessReview{}, Namespaced: true, Verbs: creates},
	{Object: &authorizationv1.SelfSubjectAccessReview{}, Verbs: creates},
	{Object: &authorizationv1.SelfSubjectRulesReview{}, Verbs: creates},
	{Object: &authorizationv1.SubjectAccessReview{}, Verbs: creates},
})

// rows returns the resources that are not of custom resources, but for CRDs.
func (o *Options) rows() []*builtin.Definition {
	return append(reviews[:len(reviews):len(reviews)], o.Builtin...)
}

// documented returns the rows that OpenAPI describes.
func (o *Options) documented() []*builtin.Definition {
	if o.Reviews {
		return o.rows()
	}
	return o.Builtin
}

// listed returns the groups that the list of groups has.
func (o *Options) listed(groups []*group) []*group {
	if o.Reviews {
		return groups
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *group) bool {
		return slices.ContainsFunc(reviews, func(d *builtin.Definition) bool { return d.GroupVersion.Group == g.name })
	})
}
