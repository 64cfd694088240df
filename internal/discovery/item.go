package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
)

// item is a group in the aggregated list, in pieces to be put between others. Most are those of its shares, which the group before had too.
type item struct {
	json, protobuf [][]byte
}

// Numbers of fields in the protobuf encodings of APIGroupDiscovery and APIVersionDiscovery.
const (
	groupMetadata    = 1
	groupVersions    = 2
	versionName      = 1
	versionResources = 2
	versionFreshness = 3
)

// makeItem encodes what aggregated returns.
func (g *group) makeItem() (*item, error) {
	encode := g.joinItem
	if len(g.shares) == 0 {
		encode = g.wholeItem
	}
	i, err := encode()
	if err != nil {
		return nil, fmt.Errorf("encoding discovery of group %s: %w", g.name, err)
	}
	return i, nil
}

// wholeItem is that of a built-in group.
func (g *group) wholeItem() (*item, error) {
	discovery := g.aggregated()
	asJSON, err := json.Marshal(discovery)
	if err != nil {
		return nil, err
	}
	protobuf, err := discovery.Marshal()
	return &item{json: [][]byte{asJSON}, protobuf: [][]byte{protobuf}}, err
}

// joinItem puts an item together of shares: it encodes the group without any resource, and puts them into it.
func (g *group) joinItem() (*item, error) {
	outline := &apidiscoveryv2.APIGroupDiscovery{}
	outline.Name = g.name
	for _, version := range g.versions {
		outline.Versions = append(outline.Versions, apidiscoveryv2.APIVersionDiscovery{
			Version: version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		})
	}
	rest, err := json.Marshal(outline)
	if err != nil {
		return nil, err
	}
	metadata, err := outline.ObjectMeta.Marshal()
	if err != nil {
		return nil, err
	}
	i := &item{protobuf: [][]byte{appendMessage(nil, groupMetadata, metadata)}}
	for n := range outline.Versions {
		version := &outline.Versions[n]
		resources, err := g.entries(version.Version)
		if err != nil {
			return nil, err
		}
		name, err := json.Marshal(version.Version)
		if err != nil {
			return nil, err
		}
		before := slices.Concat([]byte(`{"version":`), name, []byte(`,`))
		at := bytes.Index(rest, before) + len(before)
		i.json = append(i.json, rest[:at])
		i.addJSON(resources)
		i.addProtobuf(version, resources)
		rest = rest[at:]
	}
	i.json = append(i.json, rest)
	return i, nil
}

// entries returns those of all shares that have resources in a version.
func (g *group) entries(version string) ([]*entries, error) {
	all := make([]*entries, 0, len(g.shares))
	for _, s := range g.shares {
		some, err := s.entries(version)
		if err != nil {
			return nil, err
		}
		if len(some.json) > 0 {
			all = append(all, some)
		}
	}
	return all, nil
}

// addJSON adds the resources of a version, of which there is at least one.
func (i *item) addJSON(resources []*entries) {
	separator := []byte(`"resources":[`)
	for _, some := range resources {
		i.json = append(i.json, separator, some.json)
		separator = []byte{','}
	}
	i.json = append(i.json, []byte(`],`))
}

// addProtobuf adds a version with its resources.
func (i *item) addProtobuf(version *apidiscoveryv2.APIVersionDiscovery, resources []*entries) {
	begin := appendMessage(nil, versionName, []byte(version.Version))
	end := appendMessage(nil, versionFreshness, []byte(version.Freshness))
	size := len(begin) + len(end)
	for _, some := range resources {
		size += len(some.protobuf)
	}
	i.protobuf = append(i.protobuf, beginMessage(nil, groupVersions, size), begin)
	for _, some := range resources {
		i.protobuf = append(i.protobuf, some.protobuf)
	}
	i.protobuf = append(i.protobuf, end)
}

// length is that of pieces, in bytes.
func length(pieces [][]byte) (sum int) {
	for _, piece := range pieces {
		sum += len(piece)
	}
	return sum
}
