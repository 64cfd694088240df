package crds

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Table holds the CRDs as of the newest change that the storage has delivered. Reading it takes no lock.
type Table struct {
	definitions *dynamicstorage.Resource
	onChange    []func(old, new *Record)

	records sync.Map // string -> *Record, by name
	groups  sync.Map // string -> []*Record, sorted by name and never modified
	// reached is how far Run is.
	reached progress
}

// NewTable returns a table of the CRDs in a resource. It is empty until Run runs.
func NewTable(definitions *dynamicstorage.Resource) *Table {
	t := &Table{definitions: definitions}
	t.reached.init()
	return t
}

// OnChange registers a function that Run calls for every change, in order, after the table shows the change. old is nil
// for a new CRD, new for a deleted one. A CRD that was deleted and created again may arrive as one change with two
// UIDs. f must be quick and must not wait for the table. Register before Run.
func (t *Table) OnChange(f func(old, new *Record)) { t.onChange = append(t.onChange, f) }

// Synced returns a channel that is closed when the table holds every CRD that existed when Run began.
func (t *Table) Synced() <-chan struct{} { return t.reached.synced }

// HasSynced reports whether the channel of Synced is closed.
func (t *Table) HasSynced() bool {
	select {
	case <-t.reached.synced:
		return true
	default:
		return false
	}
}

// Get returns the CRD of that name, which is "plural.group".
func (t *Table) Get(name string) (*Record, bool) {
	record, ok := t.records.Load(name)
	if !ok {
		return nil, false
	}
	return record.(*Record), true
}

// Group returns the CRDs of a group at one point in time, sorted by name.
func (t *Table) Group(name string) iter.Seq[*Record] { return slices.Values(t.group(name)) }

func (t *Table) group(name string) []*Record {
	records, _ := t.groups.Load(name)
	group, _ := records.([]*Record)
	return group
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

// ServedVersions returns the groups and versions that discovery shows because of CRDs. Those of several CRDs repeat.
func (t *Table) ServedVersions() (all []schema.GroupVersion) {
	for record := range t.All() {
		all = slices.AppendSeq(all, record.ServedVersions())
	}
	return all
}

// ServesVersion reports whether a group and version is one of ServedVersions.
func (t *Table) ServesVersion(version schema.GroupVersion) bool {
	for record := range t.Group(version.Group) {
		if slices.Contains(slices.Collect(record.ServedVersions()), version) {
			return true
		}
	}
	return false
}

// OnVersionsChange calls changed with the versions of a CRD before and after each change of it.
func (t *Table) OnVersionsChange(changed func(versions ...schema.GroupVersion)) {
	t.OnChange(func(old, current *Record) {
		changed(slices.AppendSeq(slices.Collect(old.ServedVersions()), current.ServedVersions())...)
	})
}

// show applies the current state of a CRD.
func (t *Table) show(record *Record) {
	previous, _ := t.records.Swap(record.Name, record)
	old, _ := previous.(*Record)
	t.apply(old, record)
}

// drop applies the deletion of a CRD.
func (t *Table) drop(name string) {
	if previous, ok := t.records.LoadAndDelete(name); ok {
		t.apply(previous.(*Record), nil)
	}
}

// apply updates the groups and calls the functions registered with OnChange. Either old or record may be nil.
func (t *Table) apply(old, record *Record) {
	if old != nil && (record == nil || old.Group != record.Group) {
		t.updateGroup(old.Group, old.Name, nil)
	}
	if record != nil {
		t.updateGroup(record.Group, record.Name, record)
	}
	for _, f := range t.onChange {
		f(old, record)
	}
}

// updateGroup replaces the record of a name in a group; nil removes it.
func (t *Table) updateGroup(group, name string, record *Record) {
	before := t.group(group)
	at, found := slices.BinarySearchFunc(before, name, func(r *Record, name string) int {
		return strings.Compare(r.Name, name)
	})
	rest := before[at:]
	if found {
		rest = rest[1:]
	}
	var now []*Record
	if record != nil {
		now = []*Record{record}
	}
	if after := slices.Concat(before[:at], now, rest); len(after) > 0 {
		t.groups.Store(group, after)
	} else {
		t.groups.Delete(group)
	}
}

// WaitFor blocks until the table has applied the CRD at that revision or a newer one, or its deletion, and has called
// all functions registered with OnChange. revision is the result of a write or a deletion of the CRD.
func (t *Table) WaitFor(ctx context.Context, name string, revision int64) error {
	return t.reached.wait(ctx, name, revision)
}
