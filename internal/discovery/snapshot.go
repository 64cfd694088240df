package discovery

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// snapshot is what discovery shows of all groups between two changes. Each function computes its result on the first
// call.
type snapshot struct {
	// groups returns the groups in the order of Kubernetes: the built-in ones, whose priority is higher, then the others
	// by name.
	groups     func() []*group
	aggregated func() (*aggregatedList, error)
	// index returns the index of the documents of OpenAPI version 3.
	index func() ([]byte, error)
}

// aggregatedList is the aggregated list of all groups.
type aggregatedList struct {
	object *apidiscoveryv2.APIGroupDiscoveryList
	etag   string
}

func (d *Discovery) newSnapshot() *snapshot {
	s := &snapshot{groups: sync.OnceValue(d.listGroups)}
	s.aggregated = sync.OnceValues(func() (*aggregatedList, error) { return newAggregatedList(s.groups()) })
	s.index = sync.OnceValues(func() ([]byte, error) { return d.documents.index(s.groups()) })
	return s
}

func (d *Discovery) listGroups() []*group {
	groups := slices.Clone(d.listed)
	for n, g := range groups {
		groups[n] = d.withCustom(g)
	}
	for _, name := range d.table.Groups() {
		if d.builtinGroup(name) != nil {
			continue
		}
		if g := newGroup(name, d.table.Group(name)); g != nil {
			groups = append(groups, g)
		}
	}
	return groups
}

func newAggregatedList(groups []*group) (*aggregatedList, error) {
	object := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	for _, g := range groups {
		object.Items = append(object.Items, g.aggregated())
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the list of groups: %w", err)
	}
	return &aggregatedList{object: object, etag: strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(encoded)))}, nil
}

// legacy returns the list that /apis serves to clients that do not ask for the aggregated one.
func (s *snapshot) legacy() *metav1.APIGroupList {
	list := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	for _, g := range s.groups() {
		list.Groups = append(list.Groups, *g.legacy())
	}
	return list
}
