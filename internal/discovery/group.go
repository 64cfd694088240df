package discovery

import (
	"iter"
	"maps"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/crd-server/crd-server/internal/crds"
)

// group is what discovery shows of one API group. It is immutable.
type group struct {
	name     string
	versions []string // the preferred one first
	// records are the CRDs that have a served version, by plural. It is nil for a built-in group without CRDs.
	records []*crds.Record
	// builtin has the resources of the versions of a built-in group. Subresources follow their resource.
	builtin map[string][]metav1.APIResource
	// served has the CRDs that are served in each version, by plural. It is nil for a built-in group without CRDs.
	served map[string][]*crds.Record
}

// newGroup returns the group of some CRDs. It returns nil if none of them is served.
func newGroup(name string, all iter.Seq[*crds.Record]) *group {
	g := &group{name: name, served: map[string][]*crds.Record{}}
	for record := range all {
		if record.Established && slices.ContainsFunc(record.Versions, func(v crds.Version) bool { return v.Served }) {
			g.records = append(g.records, record)
		}
	}
	if len(g.records) == 0 {
		return nil
	}
	slices.SortFunc(g.records, func(a, b *crds.Record) int {
		return strings.Compare(a.AcceptedNames.Plural, b.AcceptedNames.Plural)
	})
	for _, record := range g.records {
		for _, version := range servedVersions(record) {
			g.served[version] = append(g.served[version], record)
		}
	}
	g.versions = slices.SortedFunc(maps.Keys(g.served), func(a, b string) int {
		return -version.CompareKubeAwareVersionStrings(a, b)
	})
	return g
}

// with returns a built-in group with the versions that CRDs add to it. These come first, because kube-apiserver
// registers them with a higher priority. They are only listed: kube-apiserver answers requests for them, and for CRDs
// in versions of its own, with 404.
func (g *group) with(custom *group) *group {
	if custom == nil {
		return g
	}
	isBuiltin := func(version string) bool { return g.builtin[version] != nil }
	return &group{
		name: g.name, versions: slices.Concat(slices.DeleteFunc(custom.versions, isBuiltin), g.versions),
		builtin: g.builtin, served: custom.served,
		// OpenAPI version 2 describes a CRD with all its versions, and has each path once.
		records: slices.DeleteFunc(custom.records, func(r *crds.Record) bool {
			return slices.ContainsFunc(servedVersions(r), isBuiltin)
		}),
	}
}

func servedVersions(record *crds.Record) []string {
	var versions []string
	for n := range record.Versions {
		if v := &record.Versions[n]; v.Served {
			versions = append(versions, v.Name)
		}
	}
	return versions
}

// legacy returns the group as /apis and /apis/{group} serve it.
func (g *group) legacy() *metav1.APIGroup {
	out := &metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.groupVersion(v), Version: v})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// groupVersion returns the group and a version as in an apiVersion.
func (g *group) groupVersion(version string) string {
	return schema.GroupVersion{Group: g.name, Version: version}.String()
}

// resourceList returns a version as /apis/{group}/{version} serves it, the resources by plural.
func (g *group) resourceList(version string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: g.groupVersion(version), APIResources: []metav1.APIResource{}}
	if g.builtin[version] != nil {
		list.APIResources = append(list.APIResources, g.builtin[version]...)
		return list
	}
	for _, record := range g.served[version] {
		list.APIResources = append(list.APIResources, customResource(record, version)...)
	}
	return list
}

// aggregated returns the group as the aggregated list has it.
func (g *group) aggregated() apidiscoveryv2.APIGroupDiscovery {
	out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, name := range g.versions {
		out.Versions = append(out.Versions, apidiscoveryv2.APIVersionDiscovery{
			Version: name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
			Resources: aggregatedResources(g.resourceList(name), g.builtin[name] != nil),
		})
	}
	return out
}
