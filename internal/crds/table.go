package crds

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Table shows the CRDs as of the newest change the informer has delivered. Reading it takes no lock (but Held), and a change of
// one CRD touches nothing of the others but a path through the index of its own group.
//
// Changes are applied one after the other by the goroutine the informer calls its handlers in, which stops with the
// informer.
type Table struct {
	registration cache.ResourceEventHandlerRegistration
	onChange     []func(old, new *Record)

	records sync.Map // string -> *Record, by name
	groups  sync.Map // string -> *group
	// digest is that of all records; only the applying goroutine uses it. revision is what readers see of it.
	digest   digest
	revision atomic.Pointer[string]

	waiting waiting
}

// group is all CRDs of one API group at one time. Immutable, but for held.
type group struct {
	// records are by name. Readers scan them only: even to copy them is for the applying goroutine, since that marks the tree.
	records  *btree.BTreeG[*Record]
	waiting  []*Record // for names
	digest   digest
	revision string
	// held is always of now.
	held *heldNames
}

// NewTable returns a table fed by the informer, which has not been started yet.
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
		// The only reason is an informer that has been stopped already, which is a mistake in the program.
		panic("crds: " + err.Error())
	}
	t.registration = registration
	return t
}

// OnChange registers a function to be called for every change, in order, once the table shows it; old is nil for a
// new CRD, new for a deleted one. A CRD deleted and created again may arrive as one change, with two UIDs. It is
// called in the goroutine that feeds the table: it must be quick and must not wait for the table. Register before
// the informer starts.
func (t *Table) OnChange(f func(old, new *Record)) { t.onChange = append(t.onChange, f) }

// HasSynced says whether every CRD that was there when the informer started is shown.
func (t *Table) HasSynced() bool { return t.registration.HasSynced() }

// Synced is closed when HasSynced turns true.
func (t *Table) Synced() <-chan struct{} { return t.registration.HasSyncedChecker().Done() }

// Get returns the CRD of that name, which is "plural.group".
func (t *Table) Get(name string) (*Record, bool) {
	record, ok := t.records.Load(name)
	if !ok {
		return nil, false
	}
	return record.(*Record), true
}

// Group returns the CRDs of a group, as they are now, by name.
func (t *Table) Group(name string) iter.Seq[*Record] {
	g, ok := t.groups.Load(name)
	if !ok {
		return func(func(*Record) bool) {}
	}
	return g.(*group).records.Scan
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

// All returns all CRDs, in no order.
func (t *Table) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, record := range t.records.Range {
			if !yield(record.(*Record)) {
				return
			}
		}
	}
}

// GroupRevision changes whenever something that discovery shows of the group changes. It is made of what the CRDs
// say, so it is the same on every replica and after a restart. A group without CRDs has an empty one.
func (t *Table) GroupRevision(name string) string {
	if g, ok := t.groups.Load(name); ok {
		return g.(*group).revision
	}
	return ""
}

// Revision is the GroupRevision of all groups together.
func (t *Table) Revision() string { return *t.revision.Load() }

// show applies a CRD as it now is.
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
	switch gone := obj.(type) {
	case *Record:
		if gone.listed {
			t.waiting.restart(gone.Revision)
			return
		}
		name, revision = gone.Name, gone.Revision
	case cache.DeletedFinalStateUnknown:
		// A list no longer had it. The watch that follows begins by saying how far the list was.
		name = gone.Key
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

// apply brings the indexes up to date and tells everybody. One of the two may be nil.
func (t *Table) apply(old, record *Record) {
	if old != nil && (record == nil || old.Group != record.Group) {
		t.regroup(old.Group, old, nil)
	}
	if record != nil {
		same := old
		if old != nil && old.Group != record.Group {
			same = nil
		}
		t.regroup(record.Group, same, record)
	}
	revision := t.digest.String()
	t.revision.Store(&revision)
	for _, f := range t.onChange {
		f(old, record)
	}
}

// regroup replaces a record in the index of a group; old or record may be nil.
func (t *Table) regroup(name string, old, record *Record) {
	var before *group
	if g, ok := t.groups.Load(name); ok {
		before = g.(*group)
	} else {
		before = &group{records: newRecords(), held: &heldNames{names: NewNames()}}
	}
	after := &group{digest: before.digest, held: before.held}
	after.records = before.records.Copy() // only what the change passes through is copied indeed
	after.waiting = without(before.waiting, old)
	after.held.change(old, record)
	if old != nil {
		after.records.Delete(old)
		after.digest = after.digest.xor(old.digest)
		t.digest = t.digest.xor(old.digest)
	}
	if record != nil {
		after.records.Set(record)
		if record.WaitsForNames() {
			after.waiting = append(after.waiting, record)
		}
		after.digest = after.digest.xor(record.digest)
		t.digest = t.digest.xor(record.digest)
	}
	if after.records.Len() == 0 {
		t.groups.Delete(name)
		return
	}
	after.revision = after.digest.String()
	t.groups.Store(name, after)
}

// recordsDegree makes nodes of up to 31 records: a change copies one at each level.
const recordsDegree = 16

func newRecords() *btree.BTreeG[*Record] {
	byName := func(a, b *Record) bool { return a.Name < b.Name }
	return btree.NewBTreeGOptions(byName, btree.Options{Degree: recordsDegree, NoLocks: true})
}

// without returns a copy of records that has room for one more instead of one of them.
func without(records []*Record, one *Record) []*Record {
	rest := make([]*Record, 0, len(records)+1)
	for _, r := range records {
		if r != one {
			rest = append(rest, r)
		}
	}
	return rest
}
