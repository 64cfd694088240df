package discovery

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// groupOrder has the groups of kube-apiserver in the order of their priorities. Groups of CRDs follow.
var groupOrder = []string{
	"apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
	"batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
	"discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io",
}

// builtinGroups returns the groups that are not of custom resources, in order.
func builtinGroups(options Options) []*group {
	all := versions{}
	if options.Core {
		all.add(corev1.SchemeGroupVersion)
	}
	all.add(apiextensionsv1.SchemeGroupVersion, definitionResource())
	for _, d := range options.rows() {
		all.add(d.GroupVersion, builtinResource(d))
	}
	return all.groups()
}

// versions are built-in resources by group and version.
type versions map[string]map[string][]*resource

func (v versions) add(gv schema.GroupVersion, resources ...*resource) {
	if v[gv.Group] == nil {
		v[gv.Group] = map[string][]*resource{}
	}
	v[gv.Group][gv.Version] = append(v[gv.Group][gv.Version], resources...)
}

// groups returns the groups in order, with their resources by name.
func (v versions) groups() []*group {
	var groups []*group
	for name, resources := range v {
		g := &group{name: name, builtin: resources}
		g.versions = slices.SortedFunc(maps.Keys(resources), func(a, b string) int {
			return -version.CompareKubeAwareVersionStrings(a, b)
		})
		for _, all := range resources {
			slices.SortStableFunc(all, func(a, b *resource) int { return strings.Compare(a.plural, b.plural) })
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		if less := rank(a.name) - rank(b.name); less != 0 {
			return less
		}
		return strings.Compare(a.name, b.name)
	})
	return groups
}

// rank returns the place of a group in groupOrder. Others come after all of these.
func rank(group string) int {
	if n := slices.Index(groupOrder, group); n >= 0 {
		return n
	}
	return len(groupOrder)
}

// builtinResource returns what is shown of a built-in resource.
func builtinResource(d *builtin.Definition) *resource {
	r := &resource{
		plural: d.Plural, singular: d.Singular, shortNames: d.ShortNames, categories: d.Categories,
		kind: d.GroupVersionKind(), namespaced: d.Namespaced, builtin: true,
		verbs: slices.Sorted(slices.Values(d.VerbList())),
	}
	switch gv, stored := d.GroupVersion, d.Storage; {
	case !slices.Contains(d.VerbList(), "watch"): // not stored: a review, or the status of a component
	case stored != nil:
		gv = stored.GroupVersion
		r.storageVersionHash = discovery.StorageVersionHash(gv.Group, gv.Version, stored.Kind)
	default:
		r.storageVersionHash = discovery.StorageVersionHash(gv.Group, gv.Version, d.Kind)
	}
	for _, sub := range d.Subresources {
		r.subresources = append(r.subresources, subresource{
			name: sub.Name, kind: sub.GroupVersionKind(d), verbs: slices.Sorted(slices.Values(sub.Verbs)),
		})
	}
	slices.SortFunc(r.subresources, func(a, b subresource) int { return strings.Compare(a.name, b.name) })
	return r
}

// definitionResource returns what is shown of CRDs themselves.
func definitionResource() *resource {
	const kind = "CustomResourceDefinition"
	definitions := &resource{
		plural:     crds.Plural,
		singular:   "customresourcedefinition",
		shortNames: []string{"crd", "crds"},
		categories: []string{"api-extensions"},
		kind:       apiextensionsv1.SchemeGroupVersion.WithKind(kind),
		verbs:      slices.Sorted(slices.Values(verbs)),
		builtin:    true,
		// The hash is that of the version CRDs are stored in.
		storageVersionHash: discovery.StorageVersionHash(crds.GroupName, v1beta1.SchemeGroupVersion.Version, kind),
	}
	definitions.subresources = []subresource{{name: "status", kind: definitions.kind, verbs: subresourceVerbs}}
	return definitions
}
