package crdhandler

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// view returns the bytes of an entry as the endpoint's version serves them.
func (s *requestScope) view(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	view, err := s.storage.viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if corrupt := unreadable(entry, view); corrupt != nil {
		return nil, corrupt
	}
	return view, nil
}

// views does so for many entries at once, which a conversion webhook sees as one request (T15). A view of an entry that
// cannot be read has its Err set.
func (s *requestScope) views(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	return s.storage.viewer.Views(ctx, entries)
}

// decoded returns a new object of an entry, in the hub version.
func (s *requestScope) decoded(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := s.view(ctx, entry)
	if err != nil {
		return nil, err
	}
	return s.storage.codec.decode(view, entry.Revision)
}

// unreadable returns the error of an entry that cannot be read, nil for all others.
func unreadable(entry *dynamicstorage.Entry, view *dynamicstorage.View) *corruptError {
	switch {
	case view == nil:
		return &corruptError{key: entry.Key, err: entry.Err}
	case view.Err != nil:
		return &corruptError{key: entry.Key, err: view.Err}
	}
	return nil
}

func wireObject(view *dynamicstorage.View, revision int64) wire.Object {
	return wire.Object{JSON: view.JSON, At: view.At, Revision: revision}
}

// nameOfKey returns the object's name in a storage key, namespaceOfKey its namespace.
func nameOfKey(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:]
}

func namespaceOfKey(key string) string {
	namespace, _, ok := strings.Cut(key, "/")
	if !ok {
		return ""
	}
	return namespace
}

// objectBuffers hold answers of one object while they are sent.
var objectBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, 4<<10)
	return &buffer
}}

// maxPooledObject keeps buffers that a very large object has grown from being held for small ones.
const maxPooledObject = 64 << 10
