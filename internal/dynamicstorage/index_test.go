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

// TestSelect compares Select with a scan, in present and old states, while objects change and viewers are replaced.
func TestSelect(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 4 {
		s := newSelecting()
		viewers := []*Viewer{storing(), converting()}
		var states []*Snapshot
		for range 3000 {
			switch n := rnd.IntN(100); {
			case n < 70 || s.cache.entries.Len() < minIndexed+40:
				key := fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(400))
				e := object(key, randomValue(rnd))
				for _, v := range viewers {
					if rnd.IntN(3) == 0 { // written here
						if _, err := v.View(t.Context(), e); err != nil {
							t.Fatal(err)
						}
					}
				}
				s.put(key, e)
			case n < 78:
				s.put(fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(400)), nil)
			case n < 82:
				if states = append(states, s.now()); len(states) > 5 {
					states = states[1:]
				}
			case n < 83:
				i := rnd.IntN(len(viewers))
				viewers[i].Close()
				viewers[i] = []func() *Viewer{storing, converting}[i]()
				if rnd.IntN(2) == 0 {
					s.dropViews()
				}
			case n < 84:
				s.clock.Step(time.Duration(rnd.IntN(int(unusedFor))))
				s.dropIndexes(s.clock.Now())
			default:
				i := rnd.IntN(len(viewers))
				q := randomQuery(rnd)
				q.Viewer, q.StoredLabels = viewers[i], i == 0
				state := s.now()
				if len(states) > 0 && rnd.IntN(2) == 0 {
					state = states[rnd.IntN(len(states))]
				}
				want, _ := selected(t, state, q, true)
				if got, _ := selected(t, state, q, false); !slices.Equal(got, want) {
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
		return []string{"!", "!!"}[rnd.IntN(2)]
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
		r := Requirement{Name: []string{"a", "b", "c", "d", "e", "f", "g", "none"}[rnd.IntN(8)]}
		for range rnd.IntN(4) {
			r.Values = append(r.Values, []string{fmt.Sprint(rnd.IntN(12)), fmt.Sprint(rnd.IntN(12), "'")}[rnd.IntN(2)])
		}
		slices.Sort(r.Values)
		r.Values = slices.Compact(r.Values)
		if rnd.IntN(3) == 0 {
			r = Requirement{Kind: Field, Name: "color",
				Values: []string{[]string{"", "red", "blue", "green"}[rnd.IntN(4)]}}
		}
		q.Requirements = append(q.Requirements, r)
	}
	return q
}

// checkIndexes compares the indexes of a cache with new ones.
func checkIndexes(t *testing.T, s *selecting) {
	t.Helper()
	for _, x := range s.cache.indexes {
		if x.closed() {
			continue
		}
		for _, e := range x.unknown.Items() { // views may have been made since
			x.unknown.Delete(e)
			x.add(e)
		}
		want := buildIndex(x.indexKey, s.cache.entries)
		if !slices.Equal(x.postings.Items(), want.postings.Items()) ||
			!slices.Equal(x.unknown.Items(), want.unknown.Items()) {
			t.Errorf("index of %q: %d postings, %d aside; want %d, %d", x.name, x.postings.Len(), x.unknown.Len(),
				want.postings.Len(), want.unknown.Len())
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
	v, w := storing(), converting()
	for _, c := range []struct {
		name          string
		query         Query
		first, looked int
	}{
		{"label", Query{Requirements: []Requirement{{Name: "shard", Values: []string{"7"}}}}, 50, 50},
		{"two values", Query{Requirements: []Requirement{{Name: "shard", Values: []string{"7", "8"}}}}, 100, 100},
		{"from a key on", Query{Start: "n/4000", Requirements: []Requirement{{Name: "shard", Values: []string{"7"}}}},
			10, 10},
		{"the better one of two", Query{Requirements: []Requirement{{Name: "all"},
			{Name: "shard", Values: []string{"7"}}}}, 5000, 50},
		{"a label that no object has", Query{Requirements: []Requirement{{Name: "none"}}}, 0, 0},
		{"field, whose views are not made", Query{Requirements: []Requirement{{Kind: Field, Name: "color",
			Values: []string{"7"}}}}, 5000, 100},
		{"label of a version that is converted", Query{Viewer: w,
			Requirements: []Requirement{{Name: "shard", Values: []string{"7"}}}}, 5000, 50},
		{"nothing that indexes know", Query{}, 5000, 5000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.query.Viewer == nil {
				c.query.Viewer, c.query.StoredLabels = v, true
			}
			if _, looked := selected(t, s.now(), c.query, false); looked > c.first {
				t.Errorf("first %d, want %d", looked, c.first)
			}
			if _, looked := selected(t, s.now(), c.query, false); looked != c.looked {
				t.Errorf("then %d, want %d", looked, c.looked)
			}
			s.put("n/0007", object("n/0007", "shard=7,all=1;7")) // from elsewhere: no view yet
			if _, looked := selected(t, s.now(), c.query, false); looked > c.looked+1 {
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
	v := storing()
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
				q := Query{Viewer: v, StoredLabels: true,
					Requirements: []Requirement{{Name: "shard", Values: []string{fmt.Sprint(rnd.IntN(10))}}}}
				if rnd.IntN(2) == 0 {
					q.Requirements[0] = Requirement{Kind: Field, Name: "color",
						Values: []string{fmt.Sprint(rnd.IntN(7))}}
				}
				want, _ := selected(t, state, q, true)
				if got, _ := selected(t, state, q, false); !slices.Equal(got, want) {
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
		selected(t, s.now(), Query{Viewer: storing(), StoredLabels: true,
			Requirements: []Requirement{{Name: name, Values: []string{"1"}}}}, false)
	}
	has := func(name string) bool { return findIndex(s.cache.indexes, indexKey{kind: Label, name: name}) != nil }
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
	for _, r := range []Requirement{{Name: "a", Values: []string{"1"}},
		{Kind: Field, Name: "color", Values: []string{"red"}}} {
		selected(t, state, Query{Viewer: v, StoredLabels: true, Requirements: []Requirement{r}}, false)
	}
	if len(s.cache.indexes) != 2 || s.cache.indexBytes() == 0 {
		t.Fatalf("%d indexes", len(s.cache.indexes))
	}
	entry, cached, label, field := weak.Make(s.cache.get("1")), weak.Make(s.cache), weak.Make(s.cache.indexes[0]),
		weak.Make(s.cache.indexes[1])
	views := weak.Make(s.cache.get("1").views.Load())
	state = nil
	s.Release()
	runtime.GC()
	if entry.Value() != nil || cached.Value() != nil || label.Value() != nil || field.Value() != nil ||
		views.Value() != nil {
		t.Errorf("kept: entry %v, cache %v, indexes %v %v, view %v", entry.Value() != nil, cached.Value() != nil,
			label.Value() != nil, field.Value() != nil, views.Value() != nil)
	}
}
