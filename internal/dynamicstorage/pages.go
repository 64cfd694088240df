package dynamicstorage

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Pages are as large as pageBytes allows if the next objects are as large as the last ones.
const (
	firstPage = 200
	minPage   = 20
	maxPage   = 10000
	pageBytes = 8 << 20
)

// keyRange is a range of full keys at a revision; 0 stands for the present one.
type keyRange struct {
	from, to string
	revision int64
}

// readAll reads the whole resource at the present revision, which it returns.
func (r *Resource) readAll(ctx context.Context, f func(*mvccpb.KeyValue)) (int64, error) {
	return r.readPages(ctx, keyRange{from: r.prefix, to: prefixEnd(r.prefix)}, func(kv *mvccpb.KeyValue) bool {
		f(kv)
		return ctx.Err() == nil
	})
}

// readPages is Store.readPages for the keys of objects.
func (r *Resource) readPages(ctx context.Context, k keyRange, f func(*mvccpb.KeyValue) bool) (int64, error) {
	return r.store.readPages(ctx, k, func(kv *mvccpb.KeyValue) bool { return !r.owns(kv) || f(kv) })
}

// readPages calls f for the keys of a range in etcd, page by page, all at the same revision, until it returns false.
// It returns the revision.
func (s *Store) readPages(ctx context.Context, k keyRange, f func(*mvccpb.KeyValue) bool) (int64, error) {
	limit := int64(firstPage)
	for {
		resp, err := s.get(ctx, k.from, clientv3.WithRange(k.to), clientv3.WithRev(k.revision), clientv3.WithLimit(limit))
		if err != nil {
			return 0, err
		}
		if k.revision == 0 {
			k.revision = resp.Header.Revision
		}
		size := 0
		for i, kv := range resp.Kvs {
			size += len(kv.Value) + len(kv.Key)
			resp.Kvs[i] = nil // f keeps those that it needs
			if !f(kv) {
				return k.revision, context.Cause(ctx)
			}
			k.from = string(kv.Key) + "\x00"
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return k.revision, nil
		}
		limit = nextLimit(len(resp.Kvs), size)
	}
}

// nextLimit returns the size of the page after one with n objects of size bytes.
func nextLimit(n, size int) int64 {
	average := max(size/n, 1)
	return int64(min(max(pageBytes/average, minPage), maxPage))
}
