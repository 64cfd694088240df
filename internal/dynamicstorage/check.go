package dynamicstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/klog/v2"
)

// Checked is the result of a comparison of a resource's cache with etcd.
type Checked struct {
	// Resource is the folder, such as "<group>/<plural>".
	Resource string
	// Revision is the revision of both states.
	Revision int64
	// Entries is the number of objects in etcd.
	Entries int
	// Differences describes the first maxDifferences objects that differ. It is empty if the cache is consistent.
	Differences []string
}

// maxDifferences bounds Checked.Differences.
const maxDifferences = 10

// Err returns an error if the cache differs from etcd.
func (c *Checked) Err() error {
	if len(c.Differences) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s at revision %d: %v", ErrInconsistent, c.Resource, c.Revision, c.Differences)
}

func (c *Checked) differs(format string, args ...any) {
	if len(c.Differences) < maxDifferences {
		c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
	}
}

// Check compares the cache with etcd at one revision: keys, revisions, values byte for byte, and with
// Options.CheckViews the views that writes have attached. It holds no lock. It calls pause every checkPage objects, if
// pause is not nil; an error of pause ends the check.
//
// An error means that there was no comparison. It is ErrNotLoaded if the resource is not in memory, and ErrCompacted
// if etcd has compacted the revision meanwhile.
func (r *Resource) Check(ctx context.Context, pause func(context.Context) error) (*Checked, error) {
	checked, err := r.compare(ctx, pause)
	switch {
	case errors.Is(err, ErrNotLoaded):
	case err != nil:
		r.counts.unchecked.Add(1)
	case len(checked.Differences) > 0:
		r.counts.different.Add(1)
	default:
		r.counts.consistent.Add(1)
	}
	return checked, err
}

func (r *Resource) compare(ctx context.Context, pause func(context.Context) error) (*Checked, error) {
	watch, s := r.store.feed.inSync.Load(), r.present()
	if s == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotLoaded, r.name)
	}
	next, stop := iter.Pull2(s.Ascend(ctx, "", ""))
	defer stop()
	c := comparison{resource: r, cached: next, checked: &Checked{Resource: r.name, Revision: s.Revision}}
	c.advance()
	all := keyRange{from: r.prefix, to: prefixEnd(r.prefix), revision: s.Revision}
	_, err := r.readPages(ctx, all, func(kv *mvccpb.KeyValue) bool {
		if pause != nil && c.checked.Entries%checkPage == 0 {
			if c.err = pause(ctx); c.err != nil {
				return false
			}
		}
		c.compare(ctx, kv)
		return true
	})
	if errors.Is(err, ErrFutureRevision) {
		c.checked.differs("etcd has gone back behind revision %d", s.Revision)
		defer r.store.feed.suspect()
	} else if err = errors.Join(c.err, err); err != nil {
		return nil, fmt.Errorf("comparing %s with etcd: %w", r.name, err)
	}
	for ; c.entry != nil; c.advance() {
		c.checked.differs("%s@%d is in the cache only", c.entry.Key, c.entry.Revision)
	}
	if len(c.checked.Differences) > 0 && (watch == nil || watch.ended.Load()) {
		return nil, fmt.Errorf("comparing %s with etcd: %w", r.name, errReconnected)
	}
	return c.checked, nil
}

// errReconnected: the connection to etcd was lost, so differences say nothing. If etcd was restored, the feed finds
// out.
var errReconnected = errors.New("the connection to etcd was lost")

// checkPage is the number of objects compared between two pauses.
const checkPage = 500

// comparison walks the cache and etcd in parallel, both in the order of keys.
type comparison struct {
	resource *Resource
	cached   func() (*Entry, error, bool)
	entry    *Entry // the next one in the cache; nil after the last
	checked  *Checked
	err      error
}

func (c *comparison) advance() { c.entry, _, _ = c.cached() }

// compare compares the next key of etcd.
func (c *comparison) compare(ctx context.Context, kv *mvccpb.KeyValue) {
	c.checked.Entries++
	stored := c.resource.decode(ctx, kv)
	for ; c.entry != nil && c.entry.Key < stored.Key; c.advance() {
		c.checked.differs("%s@%d is in the cache only", c.entry.Key, c.entry.Revision)
	}
	if c.entry == nil || c.entry.Key > stored.Key {
		c.checked.differs("%s@%d is in etcd only", stored.Key, stored.Revision)
		return
	}
	if c.entry.Revision != stored.Revision || c.entry.created != stored.created {
		c.checked.differs("%s@%d created at %d is @%d created at %d in etcd",
			c.entry.Key, c.entry.Revision, c.entry.created, stored.Revision, stored.created)
	} else if !bytes.Equal(c.entry.Value, stored.Value) || (c.entry.Err == nil) != (stored.Err == nil) {
		c.checked.differs("%s@%d: its %d bytes differ from the %d bytes in etcd",
			c.entry.Key, c.entry.Revision, len(c.entry.Value), len(stored.Value))
	} else if c.resource.store.options.CheckViews {
		c.checked.compareViews(ctx, c.entry, stored)
	}
	c.advance()
}

// checkPause is the pause between pages. It leaves etcd and the CPU to others.
const checkPause = 20 * time.Millisecond

// CheckEvery checks the resources in memory, one after the other, every interval, until ctx is done. It logs
// differences as errors and counts them (see Stats).
func (s *Store) CheckEvery(ctx context.Context, interval time.Duration) {
	ticker := s.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			for _, r := range s.all() {
				checked, err := r.Check(ctx, func(ctx context.Context) error { return s.pause(ctx, checkPause) })
				switch {
				case ctx.Err() != nil:
					return
				case errors.Is(err, ErrNotLoaded):
				case err != nil:
					klog.FromContext(ctx).V(1).Info("Comparing the cache with etcd failed", "resource", r.name, "err", err)
				case checked.Err() != nil:
					checked.log(ctx)
				}
			}
		}
	}
}

// checkWritten compares the views that a write has attached to its entry with those that a read makes of the stored
// value after a restart. It reports differences as CheckEvery does.
func (r *Resource) checkWritten(ctx context.Context, e *Entry) {
	checked := Checked{Resource: r.name, Revision: e.Revision, Entries: 1}
	checked.compareViews(ctx, e, e)
	if checked.Err() != nil {
		r.counts.different.Add(1)
		checked.log(ctx)
	}
}

// log logs the differences.
func (c *Checked) log(ctx context.Context) {
	klog.FromContext(ctx).Error(c.Err(), "Cache inconsistent with etcd", "resource", c.Resource, "revision", c.Revision)
}

// compareViews compares the views that writes have attached to an entry with those that are made of the stored entry.
// It leaves out views that cannot be made now.
func (c *Checked) compareViews(ctx context.Context, e, stored *Entry) {
	for kept := e.views.Load(); kept != nil; kept = kept.next {
		if !kept.attached || kept.viewer.closed.Load() {
			continue
		}
		made, err := kept.viewer.make(ctx, []*Entry{stored})
		if err != nil || len(made) != 1 {
			continue
		}
		if difference := kept.view.difference(made[0]); difference != "" {
			c.differs("%s@%d: its view %s", e.Key, e.Revision, difference)
		}
	}
}

// difference describes how a kept view differs from the one that was made of the stored value. It is empty if they are
// the same.
func (v *View) difference(made *View) string {
	switch {
	case (v.Err == nil) != (made.Err == nil):
		return fmt.Sprintf("has the error %v instead of %v", v.Err, made.Err)
	case !bytes.Equal(v.Bytes, made.Bytes):
		at := commonPrefix(v.Bytes, made.Bytes)
		return fmt.Sprintf("has %s instead of %s at byte %d", excerpt(v.Bytes, at), excerpt(made.Bytes, at), at)
	case v.At != made.At:
		return fmt.Sprintf("has its resourceVersion at %d instead of %d", v.At, made.At)
	case v.Labels != made.Labels:
		return fmt.Sprintf("has the labels %q instead of %q", v.Labels.packed, made.Labels.packed)
	case v.Fields != made.Fields:
		return fmt.Sprintf("has the fields %q instead of %q", v.Fields.packed, made.Fields.packed)
	}
	return ""
}

// commonPrefix returns the number of bytes at which a and b begin to differ.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt returns a short part of a text around the byte at an offset.
func excerpt(text []byte, at int) []byte {
	const before, after = 40, 80
	return text[max(0, at-before):min(len(text), at+after)]
}
