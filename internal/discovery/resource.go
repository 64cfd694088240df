package discovery

import (
	"strings"

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

// customResource returns the entries of a CRD in the list of a served version. Its subresources follow it.
func customResource(record *crds.Record, version string) []metav1.APIResource {
	names := &record.AcceptedNames
	r := metav1.APIResource{
		Name: names.Plural, SingularName: names.Singular, Kind: names.Kind, Namespaced: record.Namespaced,
		ShortNames: names.ShortNames, Categories: names.Categories, Verbs: verbs,
	}
	if record.Terminating {
		r.Verbs = terminatingVerbs
	}
	// As upstream does, a storage version that is not served has no hash.
	if storage := record.Version(record.StorageVersion()); storage != nil && storage.Served {
		r.StorageVersionHash = discovery.StorageVersionHash(record.Group, storage.Name, record.Names.Kind)
	}
	entries := []metav1.APIResource{r}
	if record.Version(version).Status {
		entries = append(entries, metav1.APIResource{
			Name: r.Name + "/status", Namespaced: r.Namespaced, Kind: r.Kind, Verbs: subresourceVerbs,
		})
	}
	if record.Version(version).Scale {
		entries = append(entries, metav1.APIResource{
			Name: r.Name + "/scale", Namespaced: r.Namespaced, Kind: "Scale", Verbs: subresourceVerbs,
			Group: autoscalingv1.GroupName, Version: autoscalingv1.SchemeGroupVersion.Version,
		})
	}
	return entries
}

// aggregatedResources returns the list of a version as the aggregated list has it. A kind without a version is of the
// version of the list. As upstream does, only the list of a built-in version leaves it out.
func aggregatedResources(list *metav1.APIResourceList, builtin bool) (resources []apidiscoveryv2.APIResourceDiscovery) {
	gv, _ := schema.ParseGroupVersion(list.GroupVersion)
	for _, r := range list.APIResources {
		kind := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if r.Version == "" && !builtin {
			kind.Group, kind.Version = gv.Group, gv.Version
		}
		if _, subresource, ok := strings.Cut(r.Name, "/"); ok {
			of := &resources[len(resources)-1]
			of.Subresources = append(of.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: subresource, ResponseKind: kind, Verbs: r.Verbs,
			})
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		resources = append(resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, SingularResource: r.SingularName, Scope: scope, ResponseKind: kind, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return resources
}
