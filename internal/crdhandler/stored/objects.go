// Package stored describes stored objects to the handlers: their keys, the bytes that a version serves of them, and
// the errors of reading and writing them.
//
// Begin at objects.go: Objects are the objects of a resource in one version. errors.go has the errors of the storage,
// corrupt.go those of objects that cannot be read.
package stored

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// Objects are the stored objects of a resource as one version serves them. They are objects here and bytes in
// dynamicstorage. All endpoints of the version (main, status, scale) share one Objects.
type Objects struct {
	Resource *dynamicstorage.Resource
	// Of names the resource in errors.
	Of schema.GroupResource
	// Viewer makes the views of this version: the bytes that it serves.
	Viewer *dynamicstorage.Viewer
	Codec  Codec
	// Admitted is set before mutating admission changes an object; nil if the codec need not know.
	Admitted *atomic.Bool
	// Protobuf is nil if the objects have no protobuf.
	Protobuf *Protobuf
	// Expires is the time after which objects are deleted; 0: never.
	Expires time.Duration
	// Conditions must hold for every write.
	Conditions []dynamicstorage.Condition
}

// Answer is the answer of a verb: a stored object, or an object where nothing is stored.
type Answer struct {
	// Entry is the stored object; nil in a dry run, and if the object was removed.
	Entry *dynamicstorage.Entry
	// Obj is the object in the hub version, or a Status, if there is no Entry. A write of a Scale answers with the Scale.
	Obj runtime.Object
}

// Protobuf has the objects of a version in protobuf.
type Protobuf struct {
	Viewer *dynamicstorage.Viewer
	Kind   runtime.TypeMeta
}

// TypeMeta returns the kind, or nil without protobuf.
func (p *Protobuf) TypeMeta() *runtime.TypeMeta {
	if p == nil {
		return nil
	}
	return &p.Kind
}

// Codec decodes served bytes into objects, and encodes objects into bytes to store.
type Codec interface {
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
	// HasVersion reports whether an entry is stored in the version of the endpoint. It may report false for one that
	// is.
	HasVersion(entry *dynamicstorage.Entry) bool
	// IsStorageVersion reports whether objects are stored in the version of the endpoint.
	IsStorageVersion() bool
	// KeepsLabels reports whether views have the labels of the stored objects, whichever version they are in.
	KeepsLabels() bool
}

// View returns the view of an entry in this version.
func (o *Objects) View(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	return view(ctx, o.Viewer, entry)
}

// Object returns the object of an entry. The caller owns it.
func (o *Objects) Object(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := o.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	return o.Codec.Decode(view, entry.Revision)
}

// ObjectAsStored returns the object of an entry in the version it is stored in. The caller owns it.
func (o *Objects) ObjectAsStored(_ context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := o.Codec.StoredView(entry)
	if err != nil {
		return nil, &CorruptError{Key: entry.Key, Err: err}
	}
	return o.Codec.Decode(view, entry.Revision)
}

// ViewsAsStored returns the views of entries in the versions they are stored in.
func (o *Objects) ViewsAsStored(entries []*dynamicstorage.Entry) []*dynamicstorage.View {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		var err error
		if views[n], err = o.Codec.StoredView(entry); err != nil {
			views[n] = &dynamicstorage.View{Err: err}
		}
	}
	return views
}

// ViewFunc returns the view of an entry. It fails with a CorruptError if the entry cannot be read.
type ViewFunc func(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error)

// ViewFrom returns the function that reads views of a viewer.
func ViewFrom(viewer *dynamicstorage.Viewer) ViewFunc {
	return func(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
		return view(ctx, viewer, entry)
	}
}

func view(
	ctx context.Context, viewer *dynamicstorage.Viewer, entry *dynamicstorage.Entry,
) (*dynamicstorage.View, error) {
	view, err := viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if corrupt := Unreadable(entry, view); corrupt != nil {
		return nil, corrupt
	}
	return view, nil
}

// ViewsFunc returns the views of entries, in their order. The view of an entry that cannot be read has its Err set.
type ViewsFunc func(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error)

// Key returns the key of the object that a request names. The error is the API error for a bad name.
func Key(namespaced bool, namespace, name string) (string, error) {
	switch {
	case namespaced && namespace == "":
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	case name == "":
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if problems := content.IsPathSegmentName(name); len(problems) != 0 {
		text := fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(problems, ";"))
		return "", apierrors.NewBadRequest(text)
	}
	if !namespaced {
		return name, nil
	}
	if problems := content.IsPathSegmentName(namespace); len(problems) != 0 {
		text := fmt.Sprintf("Namespace parameter invalid: %q: %s", namespace, strings.Join(problems, ";"))
		return "", apierrors.NewBadRequest(text)
	}
	return namespace + "/" + name, nil
}

// Name returns the name of the object at key.
func Name(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:]
}

// Namespace returns the namespace of the object at key, or "" if it has none.
func Namespace(key string) string {
	return key[:max(0, strings.IndexByte(key, '/'))]
}

// Object returns a view at a revision as the wire package writes it.
func Object(view *dynamicstorage.View, revision int64) wire.Object {
	return wire.Object{Bytes: view.Bytes, At: view.At, Revision: revision}
}

// Reserve reserves the memory to work on an entry, if there is one. A request for an object in the cache has done so
// before.
func Reserve(ctx context.Context, entry *dynamicstorage.Entry) error {
	if entry == nil {
		return nil
	}
	return budget.Reserve(ctx, len(entry.Value))
}
