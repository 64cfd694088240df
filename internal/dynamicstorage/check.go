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

// Checked is what a comparison of a resource's memory with etcd has found.
type Checked struct {
	// Resource is "<group>/<plural>".
	Resource string
	// Revision is what both were compared at.
	Revision int64
	// Entries are those compared.
	Entries int
	// Differences says what is not the same, of the first maxDifferences objects. None: memory is as etcd.
	Differences []string
}

// maxDifferences bounds what is told of a check.
const maxDifferences = 10

// Err returns an error if memory differs from etcd.
func (c *Checked) Err() error {
	if len(c.Differences) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s at revision %d: %v", ErrInconsistent, c.Resource, c.Revision, c.Differences)
}

// Check compares the resource in memory with etcd at one revision: keys, revisions, and values byte for byte. Nothing is locked
// meanwhile. Every checkPage objects pause is called, if it is not nil; its error ends the check.
//
// The error says that there was no comparing: ErrNotLoaded when the resource is not in memory, ErrCompacted when etcd has
// compacted the revision meanwhile.
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
	s := r.present()
	if s == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotLoaded, r.name)
	}
	next, stop := iter.Pull2(s.Ascend(ctx, "", ""))
	defer stop()
	c := comparison{resource: r, memory: next, checked: &Checked{Resource: r.name, Revision: s.Revision}}
	c.advance()
	span := span{from: r.prefix, to: prefixEnd(r.prefix), revision: s.Revision}
	_, err := r.readPages(ctx, span, func(kv *mvccpb.KeyValue) bool {
		if pause != nil && c.checked.Entries%checkPage == 0 {
			if c.err = pause(ctx); c.err != nil {
				return false
			}
		}
		c.see(ctx, kv)
		return true
	})
	if err = errors.Join(c.err, err); err != nil {
		return nil, fmt.Errorf("comparing %s with etcd: %w", r.name, err)
	}
	for ; c.entry != nil; c.advance() {
		c.differs("%s@%d is in memory only", c.entry.Key, c.entry.Revision)
	}
	return c.checked, nil
}

// checkPage is the number of objects compared between two pauses.
const checkPage = 500

// comparison goes through memory and etcd at the same time, both in the order of keys.
type comparison struct {
	resource *Resource
	memory   func() (*Entry, error, bool)
	entry    *Entry // the next one in memory; nil after the last
	checked  *Checked
	err      error
}

func (c *comparison) advance() { c.entry, _, _ = c.memory() }

func (c *comparison) differs(format string, args ...any) {
	if len(c.checked.Differences) < maxDifferences {
		c.checked.Differences = append(c.checked.Differences, fmt.Sprintf(format, args...))
	}
}

// see compares what etcd has next.
func (c *comparison) see(ctx context.Context, kv *mvccpb.KeyValue) {
	c.checked.Entries++
	stored := c.resource.decode(ctx, kv)
	for ; c.entry != nil && c.entry.Key < stored.Key; c.advance() {
		c.differs("%s@%d is in memory only", c.entry.Key, c.entry.Revision)
	}
	if c.entry == nil || c.entry.Key > stored.Key {
		c.differs("%s@%d is in etcd only", stored.Key, stored.Revision)
		return
	}
	if c.entry.Revision != stored.Revision || c.entry.created != stored.created {
		c.differs("%s@%d created at %d is @%d created at %d in etcd", c.entry.Key, c.entry.Revision, c.entry.created, stored.Revision, stored.created)
	} else if !bytes.Equal(c.entry.Value, stored.Value) || (c.entry.Err == nil) != (stored.Err == nil) {
		c.differs("%s@%d has %d bytes that are not the %d of etcd", c.entry.Key, c.entry.Revision, len(c.entry.Value), len(stored.Value))
	}
	c.advance()
}

// checkPause is the pause between pages, so that a check does not take etcd and the processor from others.
const checkPause = 20 * time.Millisecond

// CheckEvery checks the resources in memory, one after the other, every interval, until ctx is done. What differs is logged as an
// error, and counted (see Stats).
func (s *Store) CheckEvery(ctx context.Context, interval time.Duration) {
	ticker := s.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			for _, r := range s.all() {
				checked, err := r.Check(ctx, s.pauseCheck)
				switch {
				case ctx.Err() != nil:
					return
				case errors.Is(err, ErrNotLoaded):
				case err != nil:
					klog.FromContext(ctx).V(1).Info("Memory could not be compared with etcd", "resource", r.name, "err", err)
				case checked.Err() != nil:
					klog.FromContext(ctx).Error(checked.Err(), "Memory is not as etcd", "resource", r.name, "revision", checked.Revision)
				}
			}
		}
	}
}

func (s *Store) pauseCheck(ctx context.Context) error {
	select {
	case <-s.options.Clock.After(checkPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
