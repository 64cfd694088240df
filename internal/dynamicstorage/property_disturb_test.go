package dynamicstorage

import (
	"context"
	"math/rand/v2"
	"time"
)

// disturb breaks connections, compacts, releases resources, and closes views.
func (p *property) disturb(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
		switch rnd.IntN(6) {
		case 0:
			p.etcd.proxy.cut(false)
		case 1: // the stores behind the proxy lose events
			p.etcd.proxy.cut(true)
			time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
			p.compact(ctx, p.newest.Load())
			p.etcd.proxy.open()
		case 2:
			p.compact(ctx, p.revision(rnd))
			_ = p.stores[rnd.IntN(len(p.stores))].UpdateCompactedRevision(ctx) // fails while connections are broken
		case 3:
			store := p.stores[rnd.IntN(len(p.stores))]
			r, _ := p.resource(store, rnd)
			r.Release()
		case 4: // as when a schema changes
			store := p.stores[rnd.IntN(len(p.stores))]
			store.viewer.Swap(newEcho()).Close()
		}
	}
}

func (p *property) compact(ctx context.Context, revision int64) {
	// Strict stores must have seen what is compacted.
	for _, s := range p.stores {
		if s.strict && s.WaitForRevision(ctx, revision) != nil {
			return
		}
	}
	if revision > p.compacted.Load() {
		p.compacted.Store(revision)
		_, _ = p.etcd.client.Compact(ctx, revision)
	}
}
