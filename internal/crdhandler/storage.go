package crdhandler

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crd-server/crd-server/internal/crdhandler/listing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// storage stores the objects of a resource as one version serves them. It translates between objects and the bytes of
// dynamicstorage. All endpoints of the version (main, status, scale) share it.
type storage struct {
	resource *dynamicstorage.Resource
	// viewer makes the views of this version: the bytes that it serves.
	viewer *dynamicstorage.Viewer
	codec  objectCodec
	// admitted is set before plugins admit an object; nil if the codec need not know.
	admitted *atomic.Bool
	// chunks are compressed parts of this version's lists.
	chunks listing.Chunks
	// protobuf is nil if the objects have no protobuf.
	protobuf *protobufForm
	// expires is the time after which objects are deleted; 0: never.
	expires time.Duration
	// conditions must hold for every write.
	conditions []dynamicstorage.Condition
}

// protobufForm has the objects of a version in protobuf.
type protobufForm struct {
	viewer *dynamicstorage.Viewer
	chunks listing.Chunks
	kind   runtime.TypeMeta
}

// typeMeta returns the kind, or nil without the form.
func (f *protobufForm) typeMeta() *runtime.TypeMeta {
	if f == nil {
		return nil
	}
	return &f.kind
}

// objectCodec decodes served bytes into objects, and encodes objects into bytes to store.
type objectCodec interface {
	// Decode returns the object of a view at a revision, in the hub version. The caller owns it.
	Decode(view *dynamicstorage.View, revision int64) (runtime.Object, error)
	// Encode returns the bytes to store: the object in the storage version, without a resourceVersion. It returns the
	// view of them as well, if it is known without decoding them again. It does not modify obj.
	Encode(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)
	// StoredView returns the view of an entry in the version it is stored in. The view is not cached.
	StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error)
	// EncodeStored is Encode for an object of such a view. It never fails because the object cannot be converted.
	EncodeStored(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)
	// AsStored returns the object as a read returns it after it was stored. It may modify obj.
	AsStored(ctx context.Context, obj runtime.Object) (runtime.Object, error)
	// HasVersion reports whether an entry is stored in the version of the endpoint. It may report false for one that is.
	HasVersion(entry *dynamicstorage.Entry) bool
	// IsStorageVersion reports whether objects are stored in the version of the endpoint.
	IsStorageVersion() bool
	// KeepsLabels reports whether views have the labels of the stored objects, whichever version they are in.
	KeepsLabels() bool
}

// object returns the object of an entry. The caller owns it.
func (s *storage) object(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := s.viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if err := stored.Unreadable(entry, view); err != nil {
		return nil, err
	}
	return s.codec.Decode(view, entry.Revision)
}

// encode returns the change that stores a proposal in place of the current entry, if there is one.
func (s *storage) encode(ctx context.Context, p proposal, current *dynamicstorage.Entry, f form) (dynamicstorage.Change, error) {
	if err := ctx.Err(); err != nil {
		return dynamicstorage.Change{}, err
	}
	value, view, err := f.encode(ctx, p.obj)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	if current != nil && string(value) == string(current.Value) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	if current != nil && !s.codec.HasVersion(current) {
		view = nil // obj may lack defaults of the version in what an update keeps
	}
	if view != nil && p.merged {
		if view, err = s.viewAsStored(ctx, p.obj, f.encode); err != nil {
			return dynamicstorage.Change{}, err
		}
	}
	change := dynamicstorage.Change{
		Op: dynamicstorage.Put, Value: value, Expires: s.expires, If: p.allocation.Conditions(),
	}
	if p.creation != nil {
		change.If = slices.Concat(change.If, p.creation.conditions)
	}
	if view != nil {
		change.Attach = func(e *dynamicstorage.Entry) { s.viewer.Attach(e, view) }
	}
	return change, nil
}

// dryRun returns an object as a read would return it if it was stored, with the numbers that JSON has. It may modify obj.
func (s *storage) dryRun(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	obj, err := s.codec.AsStored(ctx, obj)
	u, ok := obj.(*unstructured.Unstructured)
	if err != nil || !ok {
		return obj, err
	}
	text, err := objectjson.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	read := &unstructured.Unstructured{}
	return read, utiljson.Unmarshal(text, &read.Object)
}

// viewAsStored returns the view of an object that reads differently from what is stored.
func (s *storage) viewAsStored(ctx context.Context, obj runtime.Object, encode encodeFunc) (*dynamicstorage.View, error) {
	read, err := s.codec.AsStored(ctx, obj)
	if err != nil {
		return nil, err
	}
	_, view, err := encode(ctx, read)
	return view, err
}
