package listing

import (
	"context"
	"errors"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Read returns the page that the query asks for. views makes the page's views. The error is stored.CorruptErrors if
// objects cannot be read.
func (q Query) Read(ctx context.Context, resource *dynamicstorage.Resource, views stored.ViewsFunc) (*Page, error) {
	r := reader{Query: q, resource: resource, views: views}
	var err error
	if q.selection.Key != "" && q.from == "" {
		err = r.readOne(ctx)
	} else {
		err = r.readRange(ctx)
	}
	if errors.Is(err, dynamicstorage.ErrCompacted) && q.from != "" {
		return nil, expiredContinue(q.from)
	}
	if err != nil {
		return nil, err
	}
	if len(r.corrupt) > 0 {
		return nil, r.corrupt
	}
	return &r.page, nil
}

// reader fills the page of a query.
type reader struct {
	Query
	resource *dynamicstorage.Resource
	views    stored.ViewsFunc

	page    Page
	corrupt stored.CorruptErrors
	// batch are the entries read whose views are not made yet.
	batch []*dynamicstorage.Entry
	// full says that the page has as many objects as it may have, more that there are others after them.
	full, more bool
}

// readOne reads the only object that the selection can have.
func (r *reader) readOne(ctx context.Context) error {
	entry, revision, err := r.resource.Get(ctx, r.selection.Key, r.at)
	r.page.Revision = revision
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.limit = 0
	r.batch = append(r.batch, entry)
	return r.selectBatch(ctx)
}

// readRange reads objects in the order of their keys until the page is full.
func (r *reader) readRange(ctx context.Context) error {
	snapshot, err := r.resource.Snapshot(ctx, r.at)
	if err != nil {
		return err
	}
	r.page.Revision = snapshot.Revision
	if err := r.readBatches(ctx, snapshot); err != nil {
		return err
	}
	if r.full && !r.more && !r.selection.Everything() {
		if r.more, err = r.hasMore(ctx, snapshot); err != nil {
			return err
		}
	}
	if !r.more {
		return nil
	}
	return r.setContinue(ctx, snapshot)
}

// readBatches reads the candidates of a snapshot, a batch at a time.
func (r *reader) readBatches(ctx context.Context, snapshot *dynamicstorage.Snapshot) error {
	size := r.batchSize()
	for entry, err := range r.selection.Candidates(ctx, snapshot, r.start) {
		if err != nil {
			return err
		}
		if r.full {
			r.more = true
			return nil
		}
		if r.batch = append(r.batch, entry); len(r.batch) == size {
			if err := r.selectBatch(ctx); err != nil {
				return err
			}
		}
		if r.more {
			return nil
		}
	}
	if r.full {
		return nil
	}
	return r.selectBatch(ctx)
}

// minSelectBatch is the smallest number of objects in a batch when a selector may drop most of them.
const minSelectBatch = 512

// batchSize returns the number of entries whose views are made together. Without a limit that is all of them (-1): a
// conversion webhook then gets a whole list in one request.
func (r *reader) batchSize() int {
	switch {
	case r.limit == 0:
		return -1
	case r.selection.Everything():
		return int(min(r.limit, 1<<30))
	}
	return int(min(max(r.limit, minSelectBatch), 1<<30))
}

// matchesPerCheck is the number of objects matched between two checks of the context: a selector may have 100,000
// terms.
const matchesPerCheck = 64

// selectBatch adds the selected objects of the batch to the page, and empties the batch.
func (r *reader) selectBatch(ctx context.Context) error {
	batch := r.batch
	r.batch = r.batch[:0]
	views, err := r.views(ctx, batch)
	if err != nil {
		return err
	}
	if r.selection.Everything() && len(r.page.Entries) == 0 && len(stored.AllUnreadable(batch, views)) == 0 {
		r.page.Entries, r.page.Views, r.batch = batch, views, nil
		r.full = r.limit > 0 && int64(len(batch)) == r.limit
		return nil
	}
	for n, entry := range batch {
		if err := stored.Unreadable(entry, views[n]); err != nil {
			r.corrupt = append(r.corrupt, err)
			continue
		}
		if n%matchesPerCheck == matchesPerCheck-1 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.selection.Matches(entry.Key, views[n]) {
			continue
		}
		r.page.Entries = append(r.page.Entries, entry)
		r.page.Views = append(r.page.Views, views[n])
		if r.limit > 0 && int64(len(r.page.Entries)) == r.limit {
			r.full, r.more = true, n < len(batch)-1
			return nil
		}
	}
	return nil
}

// hasMore reports whether there are objects after a full page, selected or not: the next page may be empty.
func (r *reader) hasMore(ctx context.Context, snapshot *dynamicstorage.Snapshot) (bool, error) {
	for _, err := range snapshot.Ascend(ctx, r.selection.Prefix, r.lastKey()+"\x00") {
		return err == nil, err
	}
	return false, nil
}

// setContinue sets the page's continue token, and the number of remaining objects if that is known.
func (r *reader) setContinue(ctx context.Context, snapshot *dynamicstorage.Snapshot) error {
	last := r.lastKey()
	r.page.Continue = continueAfter(last[len(r.selection.Prefix):], snapshot.Revision).encode()
	if !r.selection.Everything() {
		return nil
	}
	remaining, err := snapshot.Count(ctx, r.selection.Prefix, last)
	if err != nil {
		return err
	}
	r.page.Remaining = &remaining
	return nil
}

func (r *reader) lastKey() string { return r.page.Entries[len(r.page.Entries)-1].Key }
