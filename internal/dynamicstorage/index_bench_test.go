package dynamicstorage

import (
	"fmt"
	"testing"
)

// BenchmarkSelect finds 100 entries by a label among more and more of them, and changes one of them with and without
// indexes and snapshots: the first stays the same, the second grows with the logarithm.
func BenchmarkSelect(b *testing.B) {
	for _, objects := range []int{1_000, 10_000, 100_000} {
		s := newSelecting()
		s.ring = newRing(100, 1<<20, 1)
		key := func(n int) string { return fmt.Sprintf("n/%06d", n) }
		put := func(n, round int) {
			s.put(key(n), object(key(n), fmt.Sprintf("shard=%d,b=%d,c=%d;", n%(objects/100), n%7, round%100)))
		}
		for n := range objects {
			put(n, 0)
		}
		v := storing()
		query := func(name, value string) Query {
			return Query{Viewer: v, StoredLabels: true,
				Requirements: []Requirement{{Name: name, Values: []string{value}}}}
		}
		find := func(q Query) (n int) {
			for range s.now().Select(b.Context(), q) {
				n++
			}
			return n
		}
		b.Run(fmt.Sprintf("change, no index/%d", objects), func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				put(n*7919%objects, n)
			}
		})
		b.Run(fmt.Sprintf("make/%d", objects), func(b *testing.B) {
			entries := s.now().entries
			for b.Loop() {
				buildIndex(indexKey{kind: Label, name: "shard"}, entries)
			}
		})
		find(query("shard", "3"))
		b.Run(fmt.Sprintf("find/%d", objects), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := find(query("shard", "3")); n != 100 {
					b.Fatal(n)
				}
			}
		})
		find(query("b", "1"))
		find(query("c", "1"))
		b.Run(fmt.Sprintf("change, 3 indexes/%d", objects), func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				put(n*7919%objects, n)
			}
		})
		b.Run(fmt.Sprintf("change, 3 indexes, find/%d", objects), func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				put(n*7919%objects, n)
				find(query("shard", "3"))
			}
		})
		b.Run(fmt.Sprintf("count/%d", objects), func(b *testing.B) {
			entries := s.now().entries
			for b.Loop() {
				count(entries, "n/", key(objects/2))
			}
		})
	}
}
