package crdhandler

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// page is what a list answers with: all objects selected, or as many of them as were asked for.
type page struct {
	entries  []*dynamicstorage.Entry
	views    []*dynamicstorage.View
	revision int64
	// next is the token of the page after this one, if there is one.
	next string
	// remaining is the number of objects after this page, where that is known.
	remaining *int64
}

// pageQuery is what a list asks of the storage.
type pageQuery struct {
	selection
	at dynamicstorage.ReadAt
	// start is the key to begin with; from is the same as the client's token has it, "" without a token.
	start, from string
	// limit is the most objects a page has; 0: no limit.
	limit int64
}

// newPageQuery reads the resourceVersion, limit and continue token of a list (L2, L5).
func (s *requestScope) newPageQuery(namespace string, opts *metainternal.ListOptions) (pageQuery, error) {
	q := pageQuery{selection: s.selection(namespace, opts), limit: max(opts.Limit, 0)}
	if opts.ResourceVersion == "0" {
		q.limit = 0
	}
	if opts.Continue != "" {
		token, err := decodeContinue(opts.Continue)
		if err != nil {
			return q, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
		if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
			return q, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		q.from, q.start = token.Start, q.prefix+token.Start
		if token.Revision > 0 {
			q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: token.Revision}
		} else {
			q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
		}
		return q, nil
	}
	if opts.ResourceVersion == "" {
		q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
		return q, nil
	}
	revision, err := readRevision(opts.ResourceVersion)
	if err != nil {
		return q, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	q.at = notOlderThan(revision)
	// A limit without a match has always meant exactly that revision, but for a list of the one object of a name.
	legacyExact := opts.ResourceVersionMatch == "" && q.limit > 0 && revision > 0 && q.key == ""
	if legacyExact || opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: revision}
	}
	return q, nil
}

// readPage reads what a list asks for; views makes what the page shows of the objects.
func (s *requestScope) readPage(ctx context.Context, namespace string, opts *metainternal.ListOptions, views viewsFunc) (*page, error) {
	q, err := s.newPageQuery(namespace, opts)
	if err != nil {
		return nil, err
	}
	c := collector{scope: s, query: q, views: views}
	if q.key != "" && q.from == "" {
		err = c.readOne(ctx)
	} else {
		err = c.readRange(ctx)
	}
	if err != nil {
		return nil, s.listError(err, q)
	}
	if len(c.corrupt) > 0 {
		return nil, s.corruptList(c.corrupt)
	}
	return &c.page, nil
}

// listError is storageError for a list.
func (s *requestScope) listError(err error, q pageQuery) error {
	if errors.Is(err, dynamicstorage.ErrCompacted) && q.from != "" {
		return expiredContinue(q.from)
	}
	return s.readError(err)
}

// collector fills a page.
type collector struct {
	scope *requestScope
	query pageQuery
	views viewsFunc
	page  page

	batch   []*dynamicstorage.Entry
	corrupt []*corruptError
	// full says that the page has all objects it may have, more that others follow them.
	full, more bool
}

// readOne reads the only object that can be meant.
func (c *collector) readOne(ctx context.Context) error {
	entry, revision, err := c.scope.storage.resource.Get(ctx, c.query.key, c.query.at)
	c.page.revision = revision
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.query.limit = 0
	c.batch = append(c.batch, entry)
	return c.take(ctx)
}

// readRange reads objects in the order of their keys until the page is full.
func (c *collector) readRange(ctx context.Context) error {
	q := c.query
	snapshot, err := c.scope.storage.resource.Snapshot(ctx, q.at)
	if err != nil {
		return err
	}
	c.page.revision = snapshot.Revision
	batch := c.batchSize()
	for entry, err := range q.candidates(ctx, snapshot, q.start) {
		if err != nil {
			return err
		}
		if c.full {
			c.more = true
			break
		}
		c.batch = append(c.batch, entry)
		if len(c.batch) == batch {
			if err := c.take(ctx); err != nil {
				return err
			}
		}
		if c.more {
			break
		}
	}
	if !c.full {
		if err := c.take(ctx); err != nil {
			return err
		}
	}
	if c.full && !c.more && !q.everything() {
		if c.more, err = c.followed(ctx, snapshot); err != nil {
			return err
		}
	}
	if !c.more {
		return nil
	}
	return c.finishPage(ctx, snapshot)
}

// followed says whether there are objects after a full page, selected or not: clients are told of a next page, which may be empty.
func (c *collector) followed(ctx context.Context, snapshot *dynamicstorage.Snapshot) (bool, error) {
	last := c.page.entries[len(c.page.entries)-1].Key
	for _, err := range snapshot.Ascend(ctx, c.query.prefix, last+"\x00") {
		return err == nil, err
	}
	return false, nil
}

// finishPage makes the token for the next page.
func (c *collector) finishPage(ctx context.Context, snapshot *dynamicstorage.Snapshot) error {
	snapshot.Keep()
	last := c.page.entries[len(c.page.entries)-1].Key
	c.page.next = after(last[len(c.query.prefix):], snapshot.Revision).encode()
	if !c.query.everything() {
		return nil
	}
	remaining, err := snapshot.Count(ctx, c.query.prefix, last)
	if err != nil {
		return err
	}
	c.page.remaining = &remaining
	return nil
}

// minSelectBatch is the least number of objects looked at together when a selector may drop most of them.
const minSelectBatch = 512

// batchSize is the number of entries whose views are made together: all of them where there is no limit, which
// makes one request of a whole list for a conversion webhook.
func (c *collector) batchSize() int {
	switch {
	case c.query.limit == 0:
		return -1
	case c.query.everything():
		return int(min(c.query.limit, 1<<30))
	}
	return int(min(max(c.query.limit, minSelectBatch), 1<<30))
}

// matchesAtOnce is how many objects are held against selectors, which may have 100,000 terms, before the client is looked after.
const matchesAtOnce = 64

// take moves the selected objects of the batch to the page.
func (c *collector) take(ctx context.Context) error {
	batch := c.batch
	c.batch = c.batch[:0]
	views, err := c.views(ctx, batch)
	if err != nil {
		return err
	}
	if c.query.everything() && len(c.page.entries) == 0 && c.readable(batch, views) {
		c.page.entries, c.page.views, c.batch = batch, views, nil
		c.full = c.query.limit > 0 && int64(len(batch)) == c.query.limit
		return nil
	}
	for n, entry := range batch {
		if err := unreadable(entry, views[n]); err != nil {
			c.corrupt = append(c.corrupt, err)
			continue
		}
		if n%matchesAtOnce == matchesAtOnce-1 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !c.query.matches(entry.Key, views[n]) {
			continue
		}
		c.page.entries = append(c.page.entries, entry)
		c.page.views = append(c.page.views, views[n])
		if c.query.limit > 0 && int64(len(c.page.entries)) == c.query.limit {
			c.full, c.more = true, n < len(batch)-1
			return nil
		}
	}
	return nil
}

// readable says that every entry of a batch can be read.
func (c *collector) readable(batch []*dynamicstorage.Entry, views []*dynamicstorage.View) bool {
	for n, entry := range batch {
		if unreadable(entry, views[n]) != nil {
			return false
		}
	}
	return true
}
