package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// records are the CRDs shown, by plural; the built-in group has none.
	records []*crds.Record
	// inVersion lists the resources of a version, by plural.
	inVersion func(version string) []*resource
	// item is the group's entry in the aggregated list.
	item func() (*item, error)
	// digests has one for each version.
	digests func() map[string]string
}

// item is one group in the aggregated list, ready to be put between others.
type item struct {
	json     []byte
	protobuf []byte
}

// newGroup returns what is served of a group by these CRDs, nil if nothing is.
func newGroup(name string, all []*crds.Record) *group {
	g := &group{name: name, records: make([]*crds.Record, 0, len(all))}
	versions := map[string]bool{}
	for _, record := range all {
		if !record.Established {
			continue
		}
		served := false
		for n := range record.Versions {
			if v := &record.Versions[n]; v.Served {
				served = true
				versions[v.Name] = true
			}
		}
		if served {
			g.records = append(g.records, record)
		}
	}
	if len(versions) == 0 {
		return nil
	}
	g.versions = slices.SortedFunc(maps.Keys(versions), func(a, b string) int { return -version.CompareKubeAwareVersionStrings(a, b) })
	slices.SortFunc(g.records, func(a, b *crds.Record) int {
		return strings.Compare(a.AcceptedNames.Plural, b.AcceptedNames.Plural)
	})
	g.inVersion = g.custom
	g.prepare()
	return g
}

// prepare sets what is computed on first use.
func (g *group) prepare() {
	g.item = sync.OnceValues(g.makeItem)
	g.digests = sync.OnceValue(g.makeDigests)
}

// custom lists the custom resources of a version.
func (g *group) custom(version string) []*resource {
	var resources []*resource
	for _, record := range g.records {
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

func (g *group) makeItem() (*item, error) {
	discovery := g.aggregated()
	asJSON, err := json.Marshal(discovery)
	if err != nil {
		return nil, fmt.Errorf("encoding discovery of group %s: %w", g.name, err)
	}
	protobuf, err := discovery.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding discovery of group %s: %w", g.name, err)
	}
	return &item{json: asJSON, protobuf: protobuf}, nil
}
