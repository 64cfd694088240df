package discovery

import (
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
)

// reviews are the resources whose objects are not stored: a POST is answered with the posted review and its status.
var reviews = []*builtin.Definition{
	review(authenticationv1.SchemeGroupVersion, "SelfSubjectReview", &authenticationv1.SelfSubjectReview{}),
	review(authenticationv1.SchemeGroupVersion, "TokenReview", &authenticationv1.TokenReview{}),
	review(authorizationv1.SchemeGroupVersion, "LocalSubjectAccessReview", &authorizationv1.LocalSubjectAccessReview{}),
	review(authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", &authorizationv1.SelfSubjectAccessReview{}),
	review(authorizationv1.SchemeGroupVersion, "SelfSubjectRulesReview", &authorizationv1.SelfSubjectRulesReview{}),
	review(authorizationv1.SchemeGroupVersion, "SubjectAccessReview", &authorizationv1.SubjectAccessReview{}),
}

func review(version schema.GroupVersion, kind string, object runtime.Object) *builtin.Definition {
	singular := strings.ToLower(kind)
	return &builtin.Definition{
		GroupVersion: version, Kind: kind, Plural: singular + "s", Singular: singular,
		Namespaced: strings.HasPrefix(kind, "Local"), Object: object, Verbs: []string{"create"},
	}
}

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
