package crdhandler

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// storage is a resource as one version sees it: objects in front, the bytes of dynamicstorage behind.
// All endpoints of the version (main, status, scale) share it.
type storage struct {
	resource *dynamicstorage.Resource
	// viewer makes the bytes served in this version.
	viewer *dynamicstorage.Viewer
	codec  objectCodec
	// runs are parts of lists of this version.
	runs runs
	// watches are those of this version that are being served.
	watches openWatches
	// frames are those of recent events.
	frames sharedFrames
	// while are conditions for every write.
	while []dynamicstorage.Condition
}

// objectCodec turns served bytes into objects in memory, and those into bytes to store.
type objectCodec interface {
	// decode returns a new object, in the hub version, of a view at a revision. The caller owns it.
	decode(view *dynamicstorage.View, revision int64) (runtime.Object, error)
	// encode returns the bytes to store, in the storage version and without a resourceVersion, and the
	// view of them if it is known without decoding them again. obj is not modified.
	encode(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)
	// unconverted returns the view of an entry in the version it is stored in, whichever that is; nobody keeps it.
	unconverted(entry *dynamicstorage.Entry) (*dynamicstorage.View, error)
	// reencode is encode for an object made of such a view. It does not fail because the object cannot be converted.
	reencode(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)
	// asStored makes of an object what reading makes of it once it is stored. obj may be modified.
	asStored(ctx context.Context, obj runtime.Object) (runtime.Object, error)
	// stores says that objects are stored in the version of the endpoint.
	stores() bool
	// keepsLabels says that views have the labels of the stored objects, whichever version they are in.
	keepsLabels() bool
}

// storageKey is the key of an object below its resource.
func storageKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// object returns a new object made of entry; the caller owns it.
func (s *storage) object(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := s.viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if err := unreadable(entry, view); err != nil {
		return nil, err
	}
	return s.codec.decode(view, entry.Revision)
}

// update is one guarded change of the object at a key.
type update struct {
	key string
	// fresh starts from etcd rather than from the cache.
	fresh bool
	// change is given the stored object (nil: there is none), which it owns, and says what becomes of it. It
	// is called again when the object has changed in etcd meanwhile.
	change func(ctx context.Context, existing runtime.Object) (outcome, error)
	// orStored: when the object cannot be converted, the change is given it in the version it is stored in.
	orStored bool
	// memory, if set, spares changes that are known to change nothing.
	memory *changeMemory
}

// outcome is what a change makes of an object.
type outcome struct {
	// obj is to be stored; nil with remove or keep.
	obj runtime.Object
	// remove deletes the object.
	remove bool
	// keep leaves the object as it is, without a write.
	keep bool
	// dryRun ends the update here: nothing is written, and the object of the outcome, as it would be read, is the result.
	dryRun bool
	// merged says that obj was not decoded but merged, and may hold what no decoding leaves, such as empty labels.
	merged bool
}

// errDryRun carries the outcome of a dry run past dynamicstorage's loop.
var errDryRun = errors.New("dry run")

// apply carries out an update. It returns the entry as it is stored now (as it was last, if it was
// removed, with the revision of the deletion). In a dry run the entry is nil and the object is the
// one the change gave.
func (s *storage) apply(ctx context.Context, u update) (*dynamicstorage.Entry, runtime.Object, error) {
	var dry runtime.Object
	mutate := func(ctx context.Context, cur *dynamicstorage.Entry) (change dynamicstorage.Change, err error) {
		change, dry, err = s.attempt(ctx, cur, &u, s.servedForm())
		var unconverted *unconvertedError
		if !errors.As(err, &unconverted) {
			return change, err
		}
		if u.orStored && ctx.Err() == nil {
			if change, dry, err = s.attempt(ctx, cur, &u, s.storedForm()); !errors.As(err, &unconverted) {
				return change, err
			}
		}
		return change, unconverted.error
	}
	if u.memory != nil {
		mutate = u.memory.sparing(s.viewer, mutate)
	}
	entry, err := s.resource.Update(ctx, u.key, mutate, dynamicstorage.UpdateOptions{Fresh: u.fresh, If: s.while})
	if errors.Is(err, errDryRun) {
		return nil, dry, nil
	}
	return entry, nil, err
}

// attempt has the change made of the stored object in a form. The object returned is that of a dry run.
func (s *storage) attempt(ctx context.Context, cur *dynamicstorage.Entry, u *update, f form) (dynamicstorage.Change, runtime.Object, error) {
	var existing runtime.Object
	if cur != nil {
		var err error
		var corrupt *corruptError
		if existing, err = f.object(ctx, cur); errors.As(err, &corrupt) {
			return dynamicstorage.Change{}, nil, err
		} else if err != nil {
			return dynamicstorage.Change{}, nil, &unconvertedError{err}
		}
	}
	out, err := u.change(ctx, existing)
	if err != nil {
		return dynamicstorage.Change{}, nil, err
	}
	if out.dryRun {
		if out.obj != nil {
			if out.obj, err = s.codec.asStored(ctx, out.obj); err != nil {
				return dynamicstorage.Change{}, nil, &unconvertedError{err}
			}
		}
		return dynamicstorage.Change{}, out.obj, errDryRun
	}
	change, err := s.stored(ctx, cur, out, f.encode)
	if err != nil {
		return dynamicstorage.Change{}, nil, &unconvertedError{err}
	}
	return change, nil, nil
}

// stored turns the outcome of a change into what dynamicstorage is to write.
func (s *storage) stored(ctx context.Context, cur *dynamicstorage.Entry, out outcome, encode encodeFunc) (dynamicstorage.Change, error) {
	switch {
	case out.keep:
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	case out.remove:
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	}
	if err := ctx.Err(); err != nil {
		return dynamicstorage.Change{}, err
	}
	value, view, err := encode(ctx, out.obj)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	if cur != nil && string(value) == string(cur.Value) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	if view != nil && out.merged {
		if view, err = s.viewAsStored(ctx, out.obj, encode); err != nil {
			return dynamicstorage.Change{}, err
		}
	}
	change := dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}
	if view != nil {
		change.Attach = func(e *dynamicstorage.Entry) { s.viewer.Attach(e, view) }
	}
	return change, nil
}

// viewAsStored returns the view of an object that may be stored as something else than what is read.
func (s *storage) viewAsStored(ctx context.Context, obj runtime.Object, encode encodeFunc) (*dynamicstorage.View, error) {
	read, err := s.codec.asStored(ctx, obj)
	if err != nil {
		return nil, err
	}
	_, view, err := encode(ctx, read)
	return view, err
}
