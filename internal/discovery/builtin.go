package discovery

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiserver/pkg/endpoints/discovery"

	"github.com/crd-server/crd-server/internal/crds"
)

// newBuiltinGroup returns the group of CRDs themselves. A CRD that claims the same group is not shown: requests for it
// never reach custom resources.
func newBuiltinGroup() *group {
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
	g := &group{
		name:     crds.GroupName,
		versions: []string{apiextensionsv1.SchemeGroupVersion.Version},
	}
	g.inVersion = func(string) []*resource { return []*resource{definitions} }
	g.prepare()
	return g
}
