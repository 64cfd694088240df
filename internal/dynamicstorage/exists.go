package dynamicstorage

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// HasBelow reports whether there are entries whose keys begin with prefix, in a state with all writes that were done
// when the call began. It does not load a cold resource, but reads one key of etcd.
func (r *Resource) HasBelow(ctx context.Context, prefix string) (bool, error) {
	if r.inMemory() {
		_, reached, err := r.waitConsistent(ctx)
		if err != nil {
			return false, err
		}
		if s := r.present(); reached && s != nil {
			n, err := s.Count(ctx, prefix, "")
			return n > 0, err
		}
	}
	ctx, done, err := r.store.requesting(ctx)
	if err != nil {
		return false, fmt.Errorf("reading from etcd: %w", err)
	}
	defer done()
	from := r.fullKey(prefix)
	resp, err := r.store.client.Get(ctx, from, clientv3.WithRange(prefixEnd(from)), clientv3.WithLimit(1),
		clientv3.WithKeysOnly())
	if err != nil {
		return false, etcdError(ctx, "reading from etcd", err)
	}
	return len(resp.Kvs) > 0, nil
}

func (r *Resource) inMemory() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.cache != nil
}
