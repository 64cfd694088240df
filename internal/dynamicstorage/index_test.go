package dynamicstorage

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"
)

// TestSelect compares Select with a scan, in present and old states, while objects change.
func TestSelect(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 4 {
		s := newSelecting()
		viewer := storing()
		var states []*Snapshot
		for range 3000 {
			switch n := rnd.IntN(100); {
			case n < 70 || s.cache.entries.Len() < minIndexed+40:
				key := fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(400))
				s.put(key, object(key, randomValue(rnd)))
			case n < 78:
				s.put(fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(400)), nil)
			case n < 82:
				if states = append(states, s.now()); len(states) > 5 {
					states = states[1:]
				}
			case n < 84:
				s.clock.Step(time.Duration(rnd.IntN(int(unusedFor))))
				s.dropIndexes(s.clock.Now())
			default:
				q := randomQuery(rnd)
				state := s.now()
				if len(states) > 0 && rnd.IntN(2) == 0 {
					state = states[rnd.IntN(len(states))]
				}
				want, _ := selected(t, state, viewer, q, true)
				if got, _ := selected(t, state, viewer, q, false); !slices.Equal(got, want) {
					t.Fatalf("%+v\ngot  %v\nwant %v", q, got, want)
				}
			}
			if n := len(s.cache.indexes); n > maxIndexes {
				t.Fatalf("%d indexes", n)
			}
		}
		checkIndexes(t, s)
	}
}

func randomValue(rnd *rand.Rand) string {
	if rnd.IntN(100) == 0 {
		return "!!"
	}
	var labels []string
	for _, name := range []string{"a", "b", "d", "e", "f", "g"} {
		if rnd.IntN(3) > 0 {
			labels = append(labels, fmt.Sprintf("%s=%d", name, rnd.IntN(12)))
		}
	}
	return strings.Join(labels, ",") + ";" + []string{"", "red", "blue"}[rnd.IntN(3)]
}

func randomQuery(rnd *rand.Rand) Query {
	q := Query{Prefix: []string{"", "n0/", "n1/", "n9/"}[rnd.IntN(4)]}
	if rnd.IntN(2) == 0 {
		q.Start = q.Prefix + fmt.Sprint(rnd.IntN(400))
	}
	for range 1 + rnd.IntN(3) {
		r := Requirement{Label: []string{"a", "b", "c", "d", "e", "f", "g", "none"}[rnd.IntN(8)]}
		for range rnd.IntN(4) {
			r.Values = append(r.Values, []string{fmt.Sprint(rnd.IntN(12)), fmt.Sprint(rnd.IntN(12), "'")}[rnd.IntN(2)])
		}
		slices.Sort(r.Values)
		r.Values = slices.Compact(r.Values)
		q.Requirements = append(q.Requirements, r)
	}
	return q
}

// checkIndexes compares the indexes of a cache with new ones.
func checkIndexes(t *testing.T, s *selecting) {
	t.Helper()
	for _, x := range s.cache.indexes {
		want := buildIndex(x.label, s.cache.entries)
		if !slices.Equal(x.postings.Items(), want.postings.Items()) ||
			!slices.Equal(x.unreadable.Items(), want.unreadable.Items()) {
			t.Errorf("index of %q: %d postings, %d aside; want %d, %d", x.label, x.postings.Len(), x.unreadable.Len(),
				want.postings.Len(), want.unreadable.Len())
		}
	}
}

// TestSelectLooksAtMatches checks that the number of entries that are examined depends on the matches, not on all
// objects.
func TestSelectLooksAtMatches(t *testing.T) {
	t.Parallel()
	s := newSelecting()
	for n := range 5000 {
		key := fmt.Sprintf("n/%04d", n)
		s.put(key, object(key, fmt.Sprintf("shard=%d,all=1;%d", n%100, n%50)))
	}
	viewer := storing()
	for _, c := range []struct {
		name          string
		query         Query
		first, looked int
	}{
		{"label", Query{Requirements: []Requirement{{Label: "shard", Values: []string{"7"}}}}, 50, 50},
		{"two values", Query{Requirements: []Requirement{{Label: "shard", Values: []string{"7", "8"}}}}, 100, 100},
		{"from a key on", Query{Start: "n/4000", Requirements: []Requirement{{Label: "shard", Values: []string{"7"}}}},
			10, 10},
		{"the better one of two", Query{Requirements: []Requirement{{Label: "all"},
			{Label: "shard", Values: []string{"7"}}}}, 5000, 50},
		{"a label that no object has", Query{Requirements: []Requirement{{Label: "none"}}}, 0, 0},
		{"nothing that indexes know", Query{}, 5000, 5000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, looked := selected(t, s.now(), viewer, c.query, false); looked > c.first {
				t.Errorf("first %d, want %d", looked, c.first)
			}
			if _, looked := selected(t, s.now(), viewer, c.query, false); looked != c.looked {
				t.Errorf("then %d, want %d", looked, c.looked)
			}
			s.put("n/0007", object("n/0007", "shard=7,all=1;7")) // from elsewhere: no view yet
			if _, looked := selected(t, s.now(), viewer, c.query, false); looked > c.looked+1 {
				t.Errorf("%d after a change, want %d", looked, c.looked)
			}
		})
	}
}

// TestSelectWhileWriting selects in several goroutines while objects change, for the race detector.
func TestSelectWhileWriting(t *testing.T) {
	t.Parallel()
	s := newSelecting()
	for n := range 1000 {
		s.put(fmt.Sprintf("n/%04d", n), object(fmt.Sprintf("n/%04d", n), fmt.Sprintf("shard=%d;%d", n%10, n%7)))
	}
	viewer := storing()
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		readers.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				state := s.now()
				q := Query{Requirements: []Requirement{{Label: "shard", Values: []string{fmt.Sprint(rnd.IntN(10))}}}}
				want, _ := selected(t, state, viewer, q, true)
				if got, _ := selected(t, state, viewer, q, false); !slices.Equal(got, want) {
					t.Errorf("%+v: got %d, want %d", q, len(got), len(want))
				}
				if count(state.entries, "n/", "") != state.entries.Len() {
					t.Error("wrong count")
				}
			}
		})
	}
	for n := range 1000 {
		key := fmt.Sprintf("n/%04d", n%1100)
		s.put(key, object(key, fmt.Sprintf("shard=%d;%d", n%9, n%5)))
	}
	close(stop)
	readers.Wait()
	checkIndexes(t, s)
}

// TestMaxIndexes checks that the number of indexes is bounded, and unused ones make room.
func TestMaxIndexes(t *testing.T) {
	t.Parallel()
	s := newSelecting()
	for n := range minIndexed {
		s.put(fmt.Sprint(n), object(fmt.Sprint(n), "a=1;"))
	}
	ask := func(name string) {
		q := Query{Requirements: []Requirement{{Label: name, Values: []string{"1"}}}}
		selected(t, s.now(), storing(), q, false)
	}
	has := func(name string) bool { return findIndex(s.cache.indexes, name) != nil }
	ask("a")
	for n := range 20 {
		ask(fmt.Sprint("other", n))
	}
	if len(s.cache.indexes) != maxIndexes || !has("a") {
		t.Errorf("%d indexes, one in use %v", len(s.cache.indexes), has("a"))
	}
	s.clock.Step(unusedFor)
	ask("a")
	s.dropIndexes(s.clock.Now())
	if len(s.cache.indexes) != 1 || !has("a") || len(s.cache.frozen.indexes) != 1 {
		t.Errorf("%d unused indexes are kept", len(s.cache.indexes)-1)
	}
	ask("later")
	if len(s.cache.indexes) != 2 || !has("later") {
		t.Errorf("%d indexes, a new one %v", len(s.cache.indexes), has("later"))
	}
}

// TestReleaseFreesMemory checks that Release drops entries, views and indexes.
func TestReleaseFreesMemory(t *testing.T) {
	s := newSelecting()
	v := storing()
	for n := range 2 * minIndexed {
		s.put(fmt.Sprint(n), object(fmt.Sprint(n), fmt.Sprintf("a=%d;red", n%3)))
	}
	state := s.now()
	selected(t, state, v, Query{Requirements: []Requirement{{Label: "a", Values: []string{"1"}}}}, false)
	if len(s.cache.indexes) != 1 || s.cache.indexBytes() == 0 {
		t.Fatalf("%d indexes", len(s.cache.indexes))
	}
	entry, cached, label := weak.Make(s.cache.get("1")), weak.Make(s.cache), weak.Make(s.cache.indexes[0])
	views := weak.Make(s.cache.get("1").views.Load())
	state = nil
	s.Release()
	runtime.GC()
	if entry.Value() != nil || cached.Value() != nil || label.Value() != nil || views.Value() != nil {
		t.Errorf("kept: entry %v, cache %v, index %v, view %v", entry.Value() != nil, cached.Value() != nil,
			label.Value() != nil, views.Value() != nil)
	}
}
