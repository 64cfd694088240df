package dynamicstorage

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Pages are as large as memory allows, not knowing the size of the objects that come next.
const (
	firstPage = 200
	minPage   = 20
	maxPage   = 10000
	pageBytes = 8 << 20
)

// span is a range of full keys at a revision; 0: the present one.
type span struct {
	from, to string
	revision int64
}

// readAll reads the whole resource at the present revision, which is returned.
func (r *Resource) readAll(ctx context.Context, f func(*mvccpb.KeyValue)) (int64, error) {
	return r.readPages(ctx, span{from: r.prefix, to: prefixEnd(r.prefix)}, func(kv *mvccpb.KeyValue) bool {
		f(kv)
		return ctx.Err() == nil
	})
}

// readPages calls f with what etcd holds for keys of the resource in a span, page by page and all at the same
// revision, until it returns false. Keys that are not those of objects are skipped. The revision read at is returned.
func (r *Resource) readPages(ctx context.Context, s span, f func(*mvccpb.KeyValue) bool) (int64, error) {
	limit := int64(firstPage)
	for {
		resp, err := r.store.client.Get(ctx, s.from, clientv3.WithRange(s.to), clientv3.WithRev(s.revision), clientv3.WithLimit(limit))
		if err != nil {
			return 0, etcdError(ctx, "reading from etcd", err)
		}
		if s.revision == 0 {
			s.revision = resp.Header.Revision
		}
		size := 0
		for i, kv := range resp.Kvs {
			size += len(kv.Value) + len(kv.Key)
			resp.Kvs[i] = nil // so that what f does not keep can go
			if r.owns(kv) && !f(kv) {
				return s.revision, context.Cause(ctx)
			}
			s.from = string(kv.Key) + "\x00"
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return s.revision, nil
		}
		limit = nextLimit(len(resp.Kvs), size)
	}
}

// nextLimit returns the size of the page after one with n objects of size bytes.
func nextLimit(n, size int) int64 {
	average := max(size/n, 1)
	return int64(min(max(pageBytes/average, minPage), maxPage))
}
