package collector

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// BenchmarkCollect measures the collection of 10,000 dependents of one owner, from the deletion of the owner.
func BenchmarkCollect(b *testing.B) {
	const dependents = 10000
	s := startServer(b)
	c := s.collector()
	etcdtest.Run(b, func(ctx context.Context) error { c.Run(ctx); return nil })
	for b.Loop() {
		b.StopTimer()
		s.dependents(dependents, widget("owner", s.create("n/owner", metav1.ObjectMeta{})))
		b.StartTimer()
		s.delete("n/owner", background)
		s.until(s.left(0))
	}
}
