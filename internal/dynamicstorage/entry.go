package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Entry is a stored object at one revision. It is immutable and shared: callers must not modify it or anything in it.
type Entry struct {
	// Key is the key below the resource: "name" or "namespace/name".
	Key string
	// Revision is the revision of etcd at which the object was last modified.
	Revision int64
	// Value is the object as stored, decrypted. It is nil when it could not be decrypted.
	Value []byte
	// Header was read from Value by Options.Header.
	Header Header
	// Err is set when the value could not be decrypted or its header could not be read. Such an entry can only be
	// deleted.
	Err error

	// created is the revision at which the key was created: it differs when an object was deleted and created again.
	created int64
	// stale: the value should be stored again, to be encrypted with the current key.
	stale bool
	// views are those that Viewers have made, in a linked list.
	views atomic.Pointer[cachedView]
}

// Header holds the properties of an object that are needed without decoding it.
type Header struct {
	Labels Pairs
	// Deleting: the object has a deletion timestamp.
	Deleting bool
}

// entryOverhead estimates the memory of an entry besides its key, value and labels: the struct, a view, and the nodes
// of the cache. BenchmarkMemory of crdhandler measures it.
const entryOverhead = 304

// CreateRevision returns the revision of etcd at which the key was created. It stays the same while the object is
// changed, and differs after the object was deleted and created again.
func (e *Entry) CreateRevision() int64 { return e.created }

func (e *Entry) size() int64 {
	return int64(len(e.Key)+len(e.Value)+len(e.Header.Labels.packed)) + entryOverhead
}

// at returns a copy of the entry with another revision. The copy has the same views: they do not depend on the
// revision.
func (e *Entry) at(revision int64) *Entry {
	c := &Entry{
		Key: e.Key, Revision: revision, Value: e.Value, Header: e.Header, Err: e.Err, created: e.created, stale: e.stale,
	}
	c.views.Store(e.views.Load())
	return c
}

// ErrUntransformable is in the error of a value that cannot be decrypted. Its words are upstream's, and so are those
// after it.
var ErrUntransformable = errors.New("data from the storage is not transformable")

// decode makes an entry from a key and value of etcd.
func (r *Resource) decode(ctx context.Context, kv *mvccpb.KeyValue) *Entry {
	e := &Entry{
		Key:      r.keyOf(kv),
		Revision: kv.ModRevision,
		Value:    kv.Value,
		created:  kv.CreateRevision,
	}
	options := &r.store.options
	if options.Transform != nil {
		e.Value, e.stale, e.Err = options.Transform.FromStorage(ctx, kv.Value, string(kv.Key))
		if e.Err != nil {
			e.Value, e.Err = nil, fmt.Errorf("%w revision=0: %w", ErrUntransformable, e.Err)
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
