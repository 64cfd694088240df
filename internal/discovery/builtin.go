package discovery

import (
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"

	"github.com/crd-server/crd-server/internal/crds"
)

// builtinGroups returns the groups that are not of custom resources.
func builtinGroups(reviews bool) []*group {
	groups := []*group{newDefinitionGroup()}
	if reviews {
		groups = append(groups,
			newReviewGroup(authenticationv1.SchemeGroupVersion, "SelfSubjectReview"),
			newReviewGroup(authorizationv1.SchemeGroupVersion,
				"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"))
	}
	return groups
}

// newReviewGroup returns a group of resources whose only verb is create.
func newReviewGroup(gv schema.GroupVersion, kinds ...string) *group {
	var resources []*resource
	for _, kind := range kinds {
		singular := strings.ToLower(kind)
		resources = append(resources, &resource{
			plural: singular + "s", singular: singular, kind: gv.WithKind(kind),
			namespaced: strings.HasPrefix(kind, "Local"),
			verbs:      metav1.Verbs{"create"},
		})
	}
	return newBuiltinGroup(gv, resources...)
}

// newDefinitionGroup returns the group of CRDs themselves. A CRD of the same group is not shown, because requests for it never reach
// custom resources.
func newDefinitionGroup() *group {
	const kind = "CustomResourceDefinition"
	definitions := &resource{
		plural:     crds.Plural,
		singular:   "customresourcedefinition",
		shortNames: []string{"crd", "crds"},
		categories: []string{"api-extensions"},
		kind:       apiextensionsv1.SchemeGroupVersion.WithKind(kind),
		verbs:      slices.Sorted(slices.Values(verbs)),
		// The hash is that of the version CRDs are stored in.
		storageVersionHash: discovery.StorageVersionHash(crds.GroupName, v1beta1.SchemeGroupVersion.Version, kind),
	}
	definitions.subresources = []subresource{{name: "status", kind: definitions.kind}}
	return newBuiltinGroup(apiextensionsv1.SchemeGroupVersion, definitions)
}

func newBuiltinGroup(gv schema.GroupVersion, resources ...*resource) *group {
	if resources == nil {
		resources = []*resource{} // nil is for groups of CRDs
	}
	return &group{name: gv.Group, versions: []string{gv.Version}, resources: resources}
}
