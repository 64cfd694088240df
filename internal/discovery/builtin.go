package discovery

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, d := range append(options.rows(), definitions) {
		all.add(d.GroupVersion, builtinResource(d)...)
	}
	return all.groups()
}

// versions are the entries of built-in resources by group and version.
type versions map[string]map[string][]metav1.APIResource

func (v versions) add(gv schema.GroupVersion, resources ...metav1.APIResource) {
	if v[gv.Group] == nil {
		v[gv.Group] = map[string][]metav1.APIResource{}
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
			slices.SortFunc(all, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
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

// builtinResource returns the entries of a built-in resource and its subresources.
func builtinResource(d *builtin.Definition) []metav1.APIResource {
	r := metav1.APIResource{
		Name: d.Plural, SingularName: d.Singular, Kind: d.Kind, Namespaced: d.Namespaced,
		ShortNames: d.ShortNames, Categories: d.Categories, Verbs: slices.Sorted(slices.Values(d.VerbList())),
	}
	switch gv, stored := d.GroupVersion, d.Storage; {
	case !slices.Contains(d.VerbList(), "watch"): // not stored: a review, or the status of a component
	case stored != nil:
		gv = stored.GroupVersion
		r.StorageVersionHash = discovery.StorageVersionHash(gv.Group, gv.Version, stored.Kind)
	default:
		r.StorageVersionHash = discovery.StorageVersionHash(gv.Group, gv.Version, d.Kind)
	}
	entries := []metav1.APIResource{r}
	for _, sub := range d.Subresources {
		kind := sub.GroupVersionKind(d)
		entry := metav1.APIResource{
			Name: d.Plural + "/" + sub.Name, Namespaced: d.Namespaced, Kind: kind.Kind,
			Verbs: slices.Sorted(slices.Values(sub.Verbs)),
		}
		if kind.GroupVersion() != d.GroupVersion { // that of the list is the default
			entry.Group, entry.Version = kind.Group, kind.Version
		}
		entries = append(entries, entry)
	}
	return entries
}

// definitions are CRDs themselves.
var definitions = &builtin.Definition{
	GroupVersion: apiextensionsv1.SchemeGroupVersion, Kind: "CustomResourceDefinition", Plural: crds.Plural,
	Singular: "customresourcedefinition", ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
	Storage:      &builtin.Storage{GroupVersion: v1beta1.SchemeGroupVersion, Kind: "CustomResourceDefinition"},
	Subresources: []builtin.Subresource{{Name: "status", Verbs: builtin.SubresourceVerbs}},
}
