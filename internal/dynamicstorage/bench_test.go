package dynamicstorage

import (
	"context"
	"fmt"
	"testing"
)

func BenchmarkPut(b *testing.B) {
	s := testStore(b)
	r := s.Resource("g", "p")
	r.warm(context.Background())
	i := 0
	for b.Loop() {
		put(b, r, fmt.Sprint("k", i%100), "value")
		i++
	}
}

func BenchmarkGetConsistent(b *testing.B) {
	s := testStore(b)
	r := s.Resource("g", "p")
	put(b, r, "x", "value")
	r.warm(context.Background())
	for b.Loop() {
		if _, _, err := r.Get(context.Background(), "x", ReadAt{}); err != nil {
			b.Fatal(err)
		}
	}
}
