package rbac

import (
	"maps"
	"slices"
	"testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestChangesEqualAFreshIndex changes and deletes objects in random order, loses events now and then, and compares the
// index with the reference, and its content with that of an index that has just read the objects.
func TestChangesEqualAFreshIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	objects, index := stored{}, NewIndex()
	index.Reset()
	index.Scanned(1)
	for revision := int64(2); revision < 3000; revision++ {
		obj := w.object(20, 40)
		key := keyOfObject(obj)
		if w.IntN(3) == 0 {
			delete(objects, key)
			index.Observe(dynamicstorage.Observation{Key: key, Revision: revision, Deleted: true})
		} else {
			objects[key] = obj
			index.Observe(w.observation(t, obj, revision))
		}
		if w.IntN(500) == 0 { // events are lost: another object has changed
			lost := w.object(20, 40)
			objects[keyOfObject(lost)] = lost
			w.scan(t, index, objects, revision)
		}
		if revision%100 == 0 {
			w.compare(t, objects, index, 100)
			fresh := NewIndex()
			w.scan(t, fresh, objects, revision)
			compareContent(t, index, fresh)
		}
	}
	for key := range objects {
		index.Observe(dynamicstorage.Observation{Key: key, Revision: 3000, Deleted: true})
	}
	if holders, slots := content(index); len(holders) > 0 || slots > 0 {
		t.Errorf("without objects, the index has %v and %d roles", holders, slots)
	}
}

func (w world) scan(t testing.TB, index *Index, objects stored, revision int64) {
	t.Helper()
	index.Reset()
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		index.Observe(w.observation(t, objects[key], revision))
	}
	index.Scanned(revision)
}

// content returns the reasons of all grants by holder, and the number of slots.
func content(index *Index) (holders map[holder][]string, slots int) {
	holders = map[holder][]string{}
	s := index.current.Load()
	for _, shard := range s.grants {
		for h, grants := range shard {
			for _, g := range grants {
				holders[h] = append(holders[h], g.reason())
			}
		}
	}
	s.slots.byKey.Range(func(any, any) bool { slots++; return true })
	return holders, slots
}

func compareContent(t *testing.T, got, want *Index) {
	t.Helper()
	gotHolders, gotSlots := content(got)
	wantHolders, wantSlots := content(want)
	if !maps.EqualFunc(gotHolders, wantHolders, slices.Equal) || gotSlots != wantSlots {
		t.Fatalf("%d holders and %d roles, want %d and %d", len(gotHolders), gotSlots, len(wantHolders), wantSlots)
	}
}
