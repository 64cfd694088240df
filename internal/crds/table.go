package crds

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Table holds the CRDs as of the newest change that the informer has delivered. Reading it takes no lock.
//
// The informer calls the handlers of the table one after the other in one goroutine, which stops with the informer.
type Table struct {
	registration cache.ResourceEventHandlerRegistration
	onChange     []func(old, new *Record)

	records sync.Map // string -> *Record, by name
	groups  sync.Map // string -> *group
	// digest covers all records. Only the informer's goroutine uses it; readers use revision.
	digest   digest
	revision atomic.Pointer[string]

	waiting waiting
}

// group holds all CRDs of one API group. It is immutable: every change replaces it.
type group struct {
	records  []*Record // sorted by name
	digest   digest
	revision string
}

// NewTable returns a table that the informer fills. The informer must not have been started yet.
func NewTable(informer cache.SharedIndexInformer) *Table {
	t := &Table{}
	none := digest{}.String()
	t.revision.Store(&none)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, _ bool) { t.show(obj.(*Record)) },
		UpdateFunc: func(_, obj any) { t.show(obj.(*Record)) },
		DeleteFunc: t.drop,
	})
	if err != nil {
		// This happens only if the informer has been stopped already, which is a programming error.
		panic("crds: " + err.Error())
	}
	t.registration = registration
	return t
}

// OnChange registers a function that the table calls for every change, in order, after it has applied the change. old is nil
// for a new CRD, new for a deleted one. A CRD that was deleted and created again may arrive as one change with two UIDs. The
// table calls f in the goroutine of the informer, so f must be quick and must not wait for the table. Register before the
// informer starts.
func (t *Table) OnChange(f func(old, new *Record)) { t.onChange = append(t.onChange, f) }

// HasSynced reports whether the table holds every CRD that existed when the informer started.
func (t *Table) HasSynced() bool { return t.registration.HasSynced() }

// Synced returns a channel that is closed when HasSynced becomes true.
func (t *Table) Synced() <-chan struct{} { return t.registration.HasSyncedChecker().Done() }

// Get returns the CRD of that name, which is "plural.group".
func (t *Table) Get(name string) (*Record, bool) {
	record, ok := t.records.Load(name)
	if !ok {
		return nil, false
	}
	return record.(*Record), true
}

// Group returns the CRDs of a group at one point in time, sorted by name.
func (t *Table) Group(name string) iter.Seq[*Record] {
	g, ok := t.groups.Load(name)
	if !ok {
		return func(func(*Record) bool) {}
	}
	return slices.Values(g.(*group).records)
}

// Groups returns the names of all groups that have CRDs, sorted.
func (t *Table) Groups() []string {
	var names []string
	for name := range t.groups.Range {
		names = append(names, name.(string))
	}
	slices.Sort(names)
	return names
}

// All returns all CRDs in no particular order.
func (t *Table) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, record := range t.records.Range {
			if !yield(record.(*Record)) {
				return
			}
		}
	}
}

// GroupRevision returns a hash that changes whenever the discovery documents of the group change. It depends on the CRDs only,
// so it is the same on every replica and after a restart. It is empty for a group without CRDs.
func (t *Table) GroupRevision(name string) string {
	if g, ok := t.groups.Load(name); ok {
		return g.(*group).revision
	}
	return ""
}

// Revision is like GroupRevision, for all groups together.
func (t *Table) Revision() string { return *t.revision.Load() }

// show applies the current state of a CRD.
func (t *Table) show(record *Record) {
	t.waiting.begin(record.Name)
	previous, _ := t.records.Swap(record.Name, record)
	old, _ := previous.(*Record)
	t.apply(old, record)
	progress := record.Revision
	if record.listed {
		progress = 0
	}
	t.waiting.end(record.Name, record.Revision, progress)
}

// drop applies a deletion.
func (t *Table) drop(obj any) {
	name, revision := "", int64(0)
	switch deleted := obj.(type) {
	case *Record:
		if deleted.listed {
			t.waiting.restart(deleted.Revision)
			return
		}
		name, revision = deleted.Name, deleted.Revision
	case cache.DeletedFinalStateUnknown:
		// The CRD was missing from a new list. The watch that follows begins with the revision of that list.
		name = deleted.Key
	default:
		klog.Background().Error(nil, "The CRD informer delivered an unknown type", "object", obj)
		return
	}
	t.waiting.begin(name)
	if previous, ok := t.records.LoadAndDelete(name); ok {
		t.apply(previous.(*Record), nil)
	}
	t.waiting.end(name, revision, revision)
}

// apply updates the groups and calls the functions registered with OnChange. Either old or record may be nil.
func (t *Table) apply(old, record *Record) {
	if old != nil && record != nil && old.Group != record.Group {
		t.updateGroup(old, nil)
		t.updateGroup(nil, record)
	} else {
		t.updateGroup(old, record)
	}
	revision := t.digest.String()
	t.revision.Store(&revision)
	for _, f := range t.onChange {
		f(old, record)
	}
}

// updateGroup replaces old by record in their group. Either may be nil.
func (t *Table) updateGroup(old, record *Record) {
	current := record
	if current == nil {
		current = old
	}
	before := &group{}
	if g, ok := t.groups.Load(current.Group); ok {
		before = g.(*group)
	}
	at, found := slices.BinarySearchFunc(before.records, current.Name, func(r *Record, name string) int {
		return strings.Compare(r.Name, name)
	})
	rest := before.records[at:]
	if found {
		rest = rest[1:]
	}
	after := &group{digest: before.digest}
	if old != nil {
		after.digest = after.digest.xor(old.digest)
		t.digest = t.digest.xor(old.digest)
	}
	if record != nil {
		after.digest = after.digest.xor(record.digest)
		t.digest = t.digest.xor(record.digest)
		after.records = slices.Concat(before.records[:at], []*Record{record}, rest)
	} else {
		after.records = slices.Concat(before.records[:at], rest)
	}
	if len(after.records) == 0 {
		t.groups.Delete(current.Group)
		return
	}
	after.revision = after.digest.String()
	t.groups.Store(current.Group, after)
}
