package collector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkCollect measures the collection of 10,000 dependents of one owner.
func BenchmarkCollect(b *testing.B) {
	const dependents = 10000
	for range b.N {
		b.StopTimer()
		s := startServer(b)
		owner := widget("owner", s.create("n/owner", metav1.ObjectMeta{}))
		s.dependents(dependents, owner)
		c := s.collector()
		done := make(chan struct{})
		go func() { c.Run(b.Context()); close(done) }()
		s.delete("n/owner", background)
		b.StartTimer()
		s.until(s.left(0))
	}
}
