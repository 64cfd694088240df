package discovery

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/wire"
)

// How many CRDs share a part of a document or of a list: a part is compressed as a whole, and what CRDs say is much the same; but all of
// it is made anew when one of them changes.
const (
	usualShare = 32
	mostShare  = 4 * usualShare
)

// shareSeed makes the names with which parts begin another choice in each process.
var shareSeed = maphash.MakeSeed()

// beginsShare says that no share has CRDs from before and after the beginning of this one.
func beginsShare(record *crds.Record) bool {
	return maphash.String(shareSeed, record.Name)%usualShare == 0
}

// divide divides CRDs into those that share a part. Where a part begins depends on the CRD that it begins with, so that one
// more or less changes one part, not all that follow.
func divide(records []*crds.Record) (divided [][]*crds.Record) {
	start := 0
	for n := range records {
		if n > start && (n-start == mostShare || beginsShare(records[n])) {
			divided = append(divided, records[start:n])
			start = n
		}
	}
	if start < len(records) {
		divided = append(divided, records[start:])
	}
	return divided
}

// share is some of the CRDs of a group, which stand together in the lists of its resources. It does not change, so that a group has
// the shares of the one before but for those in which something has changed.
type share struct {
	records []*crds.Record // by plural, at least one

	mu sync.Mutex // guards all below, also while any of it is made
	// lists has the resources in a version as their list has them: JSON between commas. It is not counted: compressed they are a small
	// part of the records.
	lists map[string]wire.Deflated
	// aggregated has them as the aggregated list has them.
	aggregated map[string]*entries
}

// entries are resources between others.
type entries struct {
	json     []byte
	protobuf []byte // each is a field of its version
}

// sharesOf divides CRDs, which are in the order of their plurals.
func sharesOf(records []*crds.Record) []*share {
	var shares []*share
	for _, some := range divide(records) {
		shares = append(shares, &share{records: some})
	}
	return shares
}

// list returns the resources of a version, which may be none.
func (s *share) list(version string) (wire.Deflated, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.lists[version]; ok {
		return made, nil
	}
	const usualEntries = 3 // with status and scale
	resources := make([]metav1.APIResource, 0, usualEntries*len(s.records))
	for _, record := range s.records {
		if r := newResource(record, version); r != nil {
			resources = append(resources, r.legacy()...)
		}
	}
	var text []byte
	if len(resources) > 0 {
		list, err := json.Marshal(resources)
		if err != nil {
			return wire.Deflated{}, fmt.Errorf("encoding resources: %w", err)
		}
		text = list[1 : len(list)-1]
	}
	made := wire.DeflateWell(text)
	if s.lists == nil {
		s.lists = map[string]wire.Deflated{}
	}
	s.lists[version] = made
	return made, nil
}

// entries returns the resources of a version, which may be none.
func (s *share) entries(version string) (*entries, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.aggregated[version]; ok {
		return made, nil
	}
	made := &entries{}
	for _, record := range s.records {
		r := newResource(record, version)
		if r == nil {
			continue
		}
		if err := made.add(r.aggregated()); err != nil {
			return nil, err
		}
	}
	made.json, made.protobuf = slices.Clone(made.json), slices.Clone(made.protobuf) // without room for more
	if s.aggregated == nil {
		s.aggregated = map[string]*entries{}
	}
	s.aggregated[version] = made
	return made, nil
}

func (e *entries) add(resource apidiscoveryv2.APIResourceDiscovery) error {
	text, err := json.Marshal(resource)
	if err != nil {
		return err
	}
	message, err := resource.Marshal()
	if err != nil {
		return err
	}
	if len(e.json) > 0 {
		e.json = append(e.json, ',')
	}
	e.json = append(e.json, text...)
	e.protobuf = appendMessage(e.protobuf, versionResources, message)
	return nil
}

// after returns the CRDs of the share after changes, in their order.
func (s *share) after(changes []*change) []*crds.Record {
	records := slices.Clone(s.records)
	for _, c := range changes {
		at, found := slices.BinarySearchFunc(records, c.plural, comparePlural)
		end := at
		if found {
			end++
		}
		if c.record == nil {
			records = slices.Delete(records, at, end)
		} else {
			records = slices.Replace(records, at, end, c.record)
		}
	}
	return records
}

func comparePlural(record *crds.Record, plural string) int {
	return strings.Compare(record.AcceptedNames.Plural, plural)
}
