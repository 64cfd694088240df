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
	// dryRun ends the update here: nothing is written, and the object of the outcome is the result.
	dryRun bool
}

// errDryRun carries the outcome of a dry run past dynamicstorage's loop.
var errDryRun = errors.New("dry run")

// apply carries out an update. It returns the entry as it is stored now (as it was last, if it was
// removed, with the revision of the deletion). In a dry run the entry is nil and the object is the
// one the change gave.
func (s *storage) apply(ctx context.Context, u update) (*dynamicstorage.Entry, runtime.Object, error) {
	var dry runtime.Object
	mutate := func(ctx context.Context, cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		var existing runtime.Object
		if cur != nil {
			var err error
			if existing, err = s.object(ctx, cur); err != nil {
				return dynamicstorage.Change{}, err
			}
		}
		out, err := u.change(ctx, existing)
		if err != nil {
			return dynamicstorage.Change{}, err
		}
		if out.dryRun {
			dry = out.obj
			return dynamicstorage.Change{}, errDryRun
		}
		return s.stored(ctx, cur, out)
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

// stored turns the outcome of a change into what dynamicstorage is to write.
func (s *storage) stored(ctx context.Context, cur *dynamicstorage.Entry, out outcome) (dynamicstorage.Change, error) {
	switch {
	case out.keep:
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	case out.remove:
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	}
	value, view, err := s.codec.encode(ctx, out.obj)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	if cur != nil && string(value) == string(cur.Value) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	change := dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}
	if view != nil {
		change.Attach = func(e *dynamicstorage.Entry) { s.viewer.Attach(e, view) }
	}
	return change, nil
}
