package discovery

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/crd-server/crd-server/internal/crds"
)

// mostChanged is which part of a group may have changed since it was made, for the next one to be made of it: until then it holds the
// CRDs that are not there any more.
const mostChanged = 4

// change is that of a CRD since its group was made. It does not change.
type change struct {
	plural string
	record *crds.Record // nil: it is not shown
	before *change      // nil: it is the first
	count  int          // of changes, with those before
}

// newest returns the newest change of each CRD, by plural.
func (c *change) newest() []*change {
	changes := map[string]*change{}
	for ; c != nil; c = c.before {
		if changes[c.plural] == nil {
			changes[c.plural] = c
		}
	}
	return slices.SortedFunc(maps.Values(changes), func(a, b *change) int { return a.compare(b.plural) })
}

func (c *change) compare(plural string) int { return strings.Compare(c.plural, plural) }

// groupSlot is where what is known of a group is kept until one of its CRDs changes.
type groupSlot struct {
	once  sync.Once
	known atomic.Pointer[knownGroup] // nil: nothing
}

// knownGroup is a group, or one that was, with what has changed since.
type knownGroup struct {
	group   *group  // nil: nothing is served of it
	changes *change // nil: it is as it was
}

// group makes the group when it is first asked for: of the one that was, or of the table. Either may have been changed once more already,
// as the table shows a change before it tells of it.
func (s *groupSlot) group(name string, table Table) *group {
	s.once.Do(func() {
		var made *group
		if was := s.known.Load(); was != nil {
			made = was.group.changed(was.changes.newest())
		} else {
			made = newGroup(name, table.Group(name))
		}
		s.known.Store(&knownGroup{group: made})
	})
	return s.known.Load().group
}

// after returns the slot of the group after another change of a CRD; old or record may be nil. It returns nil if the group is better made
// of the table.
func (s *groupSlot) after(old, record *crds.Record) *groupSlot {
	known := s.known.Load()
	if known == nil || known.group == nil || known.group.size < longList {
		return nil
	}
	next := &change{before: known.changes, count: 1}
	if known.changes != nil {
		next.count += known.changes.count
	}
	switch {
	case next.count > known.group.size/mostChanged:
		return nil
	case isServed(record):
		next.plural, next.record = record.AcceptedNames.Plural, record
		if isServed(old) && old.AcceptedNames.Plural != next.plural {
			return nil // no CRD changes its plural, unless somebody writes to etcd
		}
	case isServed(old):
		next.plural = old.AcceptedNames.Plural
	default:
		return s
	}
	after := &groupSlot{}
	after.known.Store(&knownGroup{group: known.group, changes: next})
	return after
}
