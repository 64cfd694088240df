package dynamicstorage

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"
)

// model is the history with indexes.
type model struct {
	history    []fact
	at         map[int64]int // revision -> index
	byResource map[string][]int
	states     [][]*Entry // of the event's resource after each event, in the order of keys
}

func newModel(history []fact) *model {
	m := &model{history: history, at: map[int64]int{}, byResource: map[string][]int{},
		states: make([][]*Entry, len(history))}
	last := map[string]int64{}
	objects := map[string]map[string]*Entry{}
	for i := range history {
		f := &history[i]
		key := f.resource + "/" + f.key
		f.prev = last[key]
		if last[key] = f.revision; f.deleted {
			last[key] = 0
		}
		m.at[f.revision] = i
		m.byResource[f.resource] = append(m.byResource[f.resource], i)
		if objects[f.resource] == nil {
			objects[f.resource] = map[string]*Entry{}
		}
		if delete(objects[f.resource], f.key); !f.deleted {
			objects[f.resource][f.key] = &Entry{Key: f.key, Revision: f.revision, Value: []byte(f.value)}
		}
		m.states[i] = sorted(objects[f.resource])
	}
	return m
}

// entries returns the objects of a resource at a revision whose keys begin with prefix.
func (m *model) entries(resource string, revision int64, prefix string) []*Entry {
	events := m.byResource[resource]
	n := sort.Search(len(events), func(i int) bool { return m.history[events[i]].revision > revision })
	if n == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.states[events[n-1]]),
		func(e *Entry) bool { return !strings.HasPrefix(e.Key, prefix) })
}

// had reports whether a key had an entry, or none if that is nil, at some revision between two.
func (m *model) had(g *glimpse) bool {
	states := [][]*Entry{m.entries(g.resource, g.from, g.key)}
	for _, i := range m.byResource[g.resource] {
		if revision := m.history[i].revision; revision > g.from && revision <= g.to {
			states = append(states, m.states[i])
		}
	}
	var want []*Entry
	if g.entry != nil {
		want = append(want, g.entry)
	}
	return slices.ContainsFunc(states, func(state []*Entry) bool {
		at := slices.DeleteFunc(slices.Clone(state), func(e *Entry) bool { return e.Key != g.key })
		return render(at) == render(want)
	})
}

func sorted(objects map[string]*Entry) []*Entry {
	return slices.SortedFunc(maps.Values(objects), func(a, b *Entry) int { return strings.Compare(a.Key, b.Key) })
}

func render(entries []*Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s@%d=%q ", e.Key, e.Revision, e.Value)
	}
	return b.String()
}

// watched checks that a watch has got every event, in order, and reports whether it has.
func (m *model) watched(t *testing.T, w *watching) bool {
	t.Helper()
	var want []*fact
	for _, i := range m.byResource[w.resource] {
		if f := &m.history[i]; f.revision > w.after && covers(w.keys, f.key) {
			want = append(want, f)
		}
	}
	complete := len(w.events) <= len(want)
	for i := 0; complete && i < len(w.events); i++ {
		complete = sameEvent(&w.events[i], want[i], m)
	}
	for _, mark := range w.marks {
		if complete && mark.events < len(want) && want[mark.events].revision <= mark.revision {
			complete = false
		}
	}
	if !complete {
		t.Errorf("watch of %s after %d, ended with %v:\ngot %s", w.resource, w.after, w.err, describe(w.events))
	}
	return complete
}

func sameEvent(e *Event, f *fact, m *model) bool {
	if e.Revision != f.revision || (e.Entry == nil) != f.deleted || (e.Prev == nil) != (f.prev == 0) {
		return false
	}
	if e.Entry != nil && (e.Entry.Key != f.key || string(e.Entry.Value) != f.value || e.Entry.Revision != f.revision) {
		return false
	}
	return e.Prev == nil || e.Prev.Key == f.key && e.Prev.Revision == f.prev &&
		string(e.Prev.Value) == m.history[m.at[f.prev]].value
}
