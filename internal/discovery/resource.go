package discovery

import (
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"

	"github.com/crd-server/crd-server/internal/crds"
)

// Verbs in the order of upstream's lists.
var (
	verbs            = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	subresourceVerbs = metav1.Verbs{"get", "patch", "update"}
)

// resource is what discovery shows of one resource in one version, in either form.
type resource struct {
	plural, singular       string
	shortNames, categories []string
	kind                   schema.GroupVersionKind
	namespaced             bool
	verbs                  metav1.Verbs
	storageVersionHash     string
	subresources           []subresource
	// builtin says that the resource is not a custom resource.
	builtin bool
}

type subresource struct {
	name  string
	kind  schema.GroupVersionKind
	verbs metav1.Verbs
}

// newResource returns what is shown of a CRD in a served version.
func newResource(record *crds.Record, version string) *resource {
	v := record.Version(version)
	names := &record.AcceptedNames
	r := &resource{
		plural: names.Plural, singular: names.Singular,
		shortNames: names.ShortNames, categories: names.Categories,
		kind:       schema.GroupVersionKind{Group: record.Group, Version: version, Kind: names.Kind},
		namespaced: record.Namespaced,
		verbs:      verbs,
	}
	if record.Terminating {
		r.verbs = terminatingVerbs
	}
	// As upstream does, a storage version that is not served has no hash.
	if storage := record.Version(record.StorageVersion()); storage != nil && storage.Served {
		r.storageVersionHash = discovery.StorageVersionHash(record.Group, storage.Name, record.Names.Kind)
	}
	if v.Status {
		r.subresources = append(r.subresources, subresource{name: "status", kind: r.kind, verbs: subresourceVerbs})
	}
	if v.Scale {
		r.subresources = append(r.subresources, subresource{
			name: "scale", kind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), verbs: subresourceVerbs,
		})
	}
	return r
}

// legacy returns the entries of an APIResourceList.
func (r *resource) legacy() []metav1.APIResource {
	entries := []metav1.APIResource{{
		Name:               r.plural,
		SingularName:       r.singular,
		Namespaced:         r.namespaced,
		Kind:               r.kind.Kind,
		Verbs:              r.verbs,
		ShortNames:         r.shortNames,
		Categories:         r.categories,
		StorageVersionHash: r.storageVersionHash,
	}}
	for _, sub := range r.subresources {
		entry := metav1.APIResource{
			Name:       r.plural + "/" + sub.name,
			Namespaced: r.namespaced,
			Kind:       sub.kind.Kind,
			Verbs:      sub.verbs,
		}
		// The group and version of the list are the default.
		if sub.kind.GroupVersion() != r.kind.GroupVersion() {
			entry.Group, entry.Version = sub.kind.Group, sub.kind.Version
		}
		entries = append(entries, entry)
	}
	return entries
}

// aggregated returns the entry of an APIGroupDiscovery.
func (r *resource) aggregated() apidiscoveryv2.APIResourceDiscovery {
	entry := apidiscoveryv2.APIResourceDiscovery{
		Resource:         r.plural,
		SingularResource: r.singular,
		Scope:            apidiscoveryv2.ScopeCluster,
		ResponseKind:     r.responseKind(r.kind),
		Verbs:            r.verbs,
		ShortNames:       r.shortNames,
		Categories:       r.categories,
	}
	if r.namespaced {
		entry.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range r.subresources {
		entry.Subresources = append(entry.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource:  sub.name,
			ResponseKind: r.responseKind(sub.kind),
			Verbs:        sub.verbs,
		})
	}
	return entry
}

// responseKind leaves out the group and version of a built-in resource if they are those of the list, as upstream does.
func (r *resource) responseKind(kind schema.GroupVersionKind) *metav1.GroupVersionKind {
	if r.builtin && kind.GroupVersion() == r.kind.GroupVersion() {
		return &metav1.GroupVersionKind{Kind: kind.Kind}
	}
	return &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
}
