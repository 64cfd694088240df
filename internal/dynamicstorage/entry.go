package dynamicstorage

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Entry is one stored object at one revision. It is immutable and shared: nobody modifies it or anything in it.
type Entry struct {
	// Key is the key below the resource: "name" or "namespace/name".
	Key string
	// Revision is the revision of etcd that the object was last modified at.
	Revision int64
	// Value is the object as stored, decrypted. It is nil when it could not be decrypted.
	Value []byte
	// Header is what was read from Value.
	Header Header
	// Err says that the value could not be decrypted, or its header not read. Such an entry can be deleted, not served.
	Err error

	// created is the revision the key was created at: it tells a re-created object from a changed one.
	created int64
	// stale: the value should be stored again, so that it is encrypted by the current key.
	stale bool
	// views are made by Viewers.
	views atomic.Pointer[keptView]
}

// Header is what indexes and watches need of an object.
type Header struct {
	Labels Pairs
	// Deleting: the object has been asked to be deleted, and waits for its finalizers.
	Deleting bool
}

// entryOverhead is about what an entry takes besides its key, value and labels: the struct, a view, and their places in the
// cache. BenchmarkMemory of crdhandler tells.
const entryOverhead = 288

// CreateRevision is the revision of etcd that the key was created at: it stays the same while the object is changed, and is
// another one after it was deleted and created anew.
func (e *Entry) CreateRevision() int64 { return e.created }

func (e *Entry) size() int64 {
	return int64(len(e.Key)+len(e.Value)+len(e.Header.Labels.packed)) + entryOverhead
}

// at returns a copy of the entry with another revision. Views go with it, they do not depend on the revision.
func (e *Entry) at(revision int64) *Entry {
	c := &Entry{Key: e.Key, Revision: revision, Value: e.Value, Header: e.Header, Err: e.Err, created: e.created, stale: e.stale}
	c.views.Store(e.views.Load())
	return c
}

// decode makes an entry of what etcd holds for a key of the resource.
func (r *Resource) decode(ctx context.Context, kv *mvccpb.KeyValue) *Entry {
	e := &Entry{
		Key:      string(kv.Key[len(r.prefix):]),
		Revision: kv.ModRevision,
		Value:    kv.Value,
		created:  kv.CreateRevision,
	}
	options := &r.store.options
	if options.Transform != nil {
		e.Value, e.stale, e.Err = options.Transform.FromStorage(ctx, kv.Value, string(kv.Key))
		if e.Err != nil {
			e.Value, e.Err = nil, fmt.Errorf("value of %s at revision %d cannot be read: %w", kv.Key, kv.ModRevision, e.Err)
			return e
		}
	}
	e.Header, e.Err = options.header(e.Value)
	return e
}

func (o *Options) header(value []byte) (Header, error) {
	if o.Header == nil {
		return Header{}, nil
	}
	header, err := o.Header(value)
	if err != nil {
		return Header{}, fmt.Errorf("header cannot be read: %w", err)
	}
	return header, nil
}
