package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// selecting is a resource without etcd. The test applies changes like the feed.
type selecting struct {
	*Resource
	clock    *testclock.FakeClock
	revision int64
}

func newSelecting() *selecting {
	clock := testclock.NewFakeClock(time.Now())
	r := newResource(&Store{feed: &feed{}, options: Options{Clock: clock, RingEvents: 1000, RingBytes: 1 << 20}}, "g/p")
	r.cache, r.ring = newCache(newTree(), 1), newRing(1000, 1<<20, 1)
	return &selecting{Resource: r, clock: clock, revision: 1}
}

// object is an entry whose value has its labels and its field: "a=1,b=2;red". A value of "!" cannot be converted,
// "!!" cannot be read.
func object(key, value string) *Entry {
	header, _ := valueHeader([]byte(value))
	e := &Entry{Key: key, Value: []byte(value), Header: header}
	if value == "!!" {
		e.Err = errors.New("unreadable")
	}
	return e
}

func valueHeader(value []byte) (Header, error) {
	return Header{Labels: PairsOf(labelsOf(string(value)))}, nil
}

func labelsOf(value string) map[string]string {
	m := map[string]string{}
	labels, _, _ := strings.Cut(value, ";")
	for _, label := range strings.Split(labels, ",") {
		if name, v, ok := strings.Cut(label, "="); ok {
			m[name] = v
		}
	}
	return m
}

// put stores an entry, or deletes the key if it is nil.
func (s *selecting) put(key string, e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	if e != nil {
		e.Revision = s.revision
	}
	s.applyLocked([]change{{key: key, entry: e, revision: s.revision}})
}

func (s *selecting) now() *Snapshot { return s.present() }

// converting makes views whose labels differ from the stored ones, as a webhook may: "a" has another value and "b" is
// "c".
func converting() *Viewer {
	return NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		views := make([]*View, len(entries))
		for i, e := range entries {
			if views[i] = (&View{Bytes: e.Value}); e.Err != nil || string(e.Value) == "!" {
				views[i].Err = errors.New("no view")
				continue
			}
			labels := labelsOf(string(e.Value))
			if v, ok := labels["a"]; ok {
				labels["a"] = v + "'"
			}
			if v, ok := labels["b"]; ok {
				delete(labels, "b")
				labels["c"] = v
			}
			views[i].Labels = PairsOf(labels)
			views[i].Fields = fieldsOf(e)
		}
		return views, nil
	})
}

func storing() *Viewer {
	return NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		views := make([]*View, len(entries))
		for i, e := range entries {
			views[i] = &View{Bytes: e.Value, Labels: e.Header.Labels, Fields: fieldsOf(e)}
			views[i].Err = e.Err
		}
		return views, nil
	})
}

func fieldsOf(e *Entry) Pairs {
	_, color, _ := strings.Cut(string(e.Value), ";")
	return PairsOf(map[string]string{"color": color})
}

// meets reports whether a view is selected.
func meets(v *View, requirements []Requirement) bool {
	for _, r := range requirements {
		value, has := v.Labels.Lookup(r.Name)
		if r.Kind == Field {
			value, has = v.Fields.Lookup(r.Name)
		}
		if !has || r.Values != nil && !slices.Contains(r.Values, value) {
			return false
		}
	}
	return true
}

// selected returns the keys and revisions of the selected entries, and the number of entries that were examined.
func selected(t *testing.T, s *Snapshot, q Query, all bool) (found []string, looked int) {
	t.Helper()
	seq := s.Select(t.Context(), q)
	if all {
		seq = s.Ascend(t.Context(), q.Prefix, q.Start)
	}
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		looked++
		v, err := q.Viewer.View(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if v.Err != nil || meets(v, q.Requirements) { // the reader has to report errors
			found = append(found, fmt.Sprint(e.Key, "@", e.Revision))
		}
	}
	return found, looked
}
