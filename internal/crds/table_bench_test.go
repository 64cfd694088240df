package crds

import (
	"fmt"
	"testing"
)

// BenchmarkShow measures the cost of one more CRD in the table, by the number of CRDs, in small groups and in one
// group. The cost must be about the same for any number.
func BenchmarkShow(b *testing.B) {
	for _, count := range []int{500, 2000, 8000} {
		b.Run(fmt.Sprint("groups/", count), func(b *testing.B) { benchmarkShow(b, count, 8) })
		b.Run(fmt.Sprint("one/", count), func(b *testing.B) { benchmarkShow(b, count, count) })
	}
}

func benchmarkShow(b *testing.B, count, perGroup int) {
	t := NewTable(nil)
	record := func(n int) *Record {
		r := &Record{Group: fmt.Sprintf("g%d.example.com", n/perGroup), Revision: int64(n + 1)}
		r.Name = fmt.Sprintf("things%d.%s", n, r.Group)
		return r
	}
	for n := range count {
		t.show(record(n))
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		one := record(n % count)
		t.show(one)
	}
}
