package discovery

import (
	"iter"
	"maps"
	"slices"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/crd-server/crd-server/internal/crds"
)

// group is what discovery shows of one group. It does not change; what is expensive is made on first use.
type group struct {
	name     string
	versions []string // the preferred one first
	// shares are the CRDs that have a served version, by plural; built-in groups have none. size is how many these are, and served how many
	// of them serve each version.
	shares []*share
	size   int
	served map[string]int
	// inVersion lists the resources of a version, by plural.
	inVersion func(version string) []*resource
	// item is the group's entry in the aggregated list.
	item func() (*item, error)
	// digests has one for each version.
	digests func() map[string]string
}

// newGroup returns what is served of a group by these CRDs, nil if nothing is.
func newGroup(name string, all iter.Seq[*crds.Record]) *group {
	var records []*crds.Record
	for record := range all {
		if isServed(record) {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, func(a, b *crds.Record) int { return comparePlural(a, b.AcceptedNames.Plural) })
	g := &group{name: name, shares: sharesOf(records), size: len(records), served: map[string]int{}}
	g.count(records, 1)
	return g.made()
}

// isServed says that clients are shown a CRD, which may be nil, in some version.
func isServed(record *crds.Record) bool {
	return record != nil && record.Established && slices.ContainsFunc(record.Versions, func(v crds.Version) bool { return v.Served })
}

// changed returns the group as it is after changes, each of another CRD and in the order of their plurals; nil if nothing is served of it
// any more.
func (g *group) changed(changes []*change) *group {
	next := &group{name: g.name, size: g.size, served: maps.Clone(g.served)}
	for n, old := range g.shares {
		own := len(changes) // those of the last share, and what follows it
		if n+1 < len(g.shares) {
			following := g.shares[n+1].records[0].AcceptedNames.Plural
			own, _ = slices.BinarySearchFunc(changes, following, (*change).compare)
		}
		if own == 0 {
			next.shares = append(next.shares, old)
			continue
		}
		next.replace(old, old.after(changes[:own]))
		changes = changes[own:]
	}
	return next.made()
}

// replace adds what has become of a share of the group before. What is left of a share without its beginning goes with the one before it.
func (g *group) replace(old *share, records []*crds.Record) {
	g.count(old.records, -1)
	g.count(records, 1)
	g.size += len(records) - len(old.records)
	if last := len(g.shares) - 1; last >= 0 && len(records) > 0 && !beginsShare(records[0]) && len(g.shares[last].records)+len(records) <= mostShare {
		records = slices.Concat(g.shares[last].records, records)
		g.shares = g.shares[:last]
	}
	g.shares = append(g.shares, sharesOf(records)...)
}

// count counts the versions of CRDs that are there, or with -1 no longer are.
func (g *group) count(records []*crds.Record, by int) {
	for _, record := range records {
		for n := range record.Versions {
			if v := &record.Versions[n]; v.Served {
				g.served[v.Name] += by
			}
		}
	}
}

// made completes a group, and returns nil if there is nothing in it.
func (g *group) made() *group {
	maps.DeleteFunc(g.served, func(_ string, count int) bool { return count == 0 })
	if len(g.served) == 0 {
		return nil
	}
	g.versions = slices.SortedFunc(maps.Keys(g.served), func(a, b string) int { return -version.CompareKubeAwareVersionStrings(a, b) })
	g.inVersion = g.custom
	g.prepare()
	return g
}

// records returns the CRDs that have a served version, by plural.
func (g *group) records() iter.Seq[*crds.Record] {
	return func(yield func(*crds.Record) bool) {
		for _, s := range g.shares {
			for _, record := range s.records {
				if !yield(record) {
					return
				}
			}
		}
	}
}

// prepare sets what is computed on first use.
func (g *group) prepare() {
	g.item = sync.OnceValues(g.makeItem)
	g.digests = sync.OnceValue(g.makeDigests)
}

// custom lists the custom resources of a version.
func (g *group) custom(version string) []*resource {
	var resources []*resource
	for record := range g.records() {
		if r := newResource(record, version); r != nil {
			resources = append(resources, r)
		}
	}
	return resources
}

// legacy is the group as /apis and /apis/{group} show it.
func (g *group) legacy() *metav1.APIGroup {
	out := &metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.name + "/" + v, Version: v})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// resourceList is a version as /apis/{group}/{version} shows it.
func (g *group) resourceList(version string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: g.name + "/" + version}
	for _, r := range g.inVersion(version) {
		list.APIResources = append(list.APIResources, r.legacy()...)
	}
	return list
}

// aggregated is the group as the aggregated list shows it.
func (g *group) aggregated() *apidiscoveryv2.APIGroupDiscovery {
	out := &apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, name := range g.versions {
		v := apidiscoveryv2.APIVersionDiscovery{Version: name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range g.inVersion(name) {
			v.Resources = append(v.Resources, r.aggregated())
		}
		out.Versions = append(out.Versions, v)
	}
	return out
}
