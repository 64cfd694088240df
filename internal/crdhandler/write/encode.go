package write

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// form is the version in which a write decodes the stored object and encodes the new one.
type form struct {
	objects *stored.Objects
	decode  func(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error)
	encode  func(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)
}

// servedForm is the version of the endpoint, storedForm the version that an object is stored in.
func servedForm(o *stored.Objects) form { return form{o, o.Object, o.Codec.Encode} }
func storedForm(o *stored.Objects) form { return form{o, o.ObjectAsStored, o.Codec.EncodeStored} }

// unconvertedError is the error of an object that cannot be converted to the version of the endpoint or of the storage.
type unconvertedError struct{ error }

func (e *unconvertedError) Unwrap() error { return e.error }

// object returns the object of an entry; nil if there is no entry. The error is an unconvertedError unless the entry is
// corrupt.
func (f form) object(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	if entry == nil {
		return nil, nil
	}
	obj, err := f.decode(ctx, entry)
	var corrupt *stored.CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		err = &unconvertedError{err}
	}
	return obj, err
}

// change returns the change that stores a proposal in place of the current entry, if there is one.
func (f form) change(ctx context.Context, p Proposal, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
	if err := ctx.Err(); err != nil {
		return dynamicstorage.Change{}, err
	}
	value, view, err := f.encode(ctx, p.Obj)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	if current != nil && string(value) == string(current.Value) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	if current != nil && !f.objects.Codec.HasVersion(current) {
		view = nil // obj may lack defaults of the version in what an update keeps
	}
	if view != nil && p.Merged {
		if view, err = f.viewAsStored(ctx, p.Obj); err != nil {
			return dynamicstorage.Change{}, err
		}
	}
	change := dynamicstorage.Change{
		Op: dynamicstorage.Put, Value: value, Expires: f.objects.Expires,
		If: slices.Concat(p.If, p.allocation.Conditions()),
	}
	if p.creation != nil {
		change.If = slices.Concat(change.If, p.creation.conditions)
	}
	if view != nil {
		change.Attach = func(e *dynamicstorage.Entry) { f.objects.Viewer.Attach(e, view) }
	}
	return change, nil
}

// viewAsStored returns the view of an object that reads differently from what is stored.
func (f form) viewAsStored(ctx context.Context, obj runtime.Object) (*dynamicstorage.View, error) {
	read, err := f.objects.Codec.AsStored(ctx, obj)
	if err != nil {
		return nil, err
	}
	_, view, err := f.encode(ctx, read)
	return view, err
}

// asRead returns an object as a read would return it if it was stored, with the numbers that JSON has. It may modify
// obj.
func asRead(ctx context.Context, o *stored.Objects, obj runtime.Object) (runtime.Object, error) {
	obj, err := o.Codec.AsStored(ctx, obj)
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
