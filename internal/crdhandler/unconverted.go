package crdhandler

import (
	"context"
	"errors"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// Objects can be deleted while their conversion webhook is down, if the client needs nothing of another version. When
// the conversion fails, the deletion continues with the objects in the version they are stored in.

// deletesUnconverted reports whether a DELETE continues without the webhook. Upstream's never does, and its suite
// checks that for clients that get objects of a version that is not stored. Ours does at the endpoint of the storage
// version, and for clients that only want metadata. These ask for metadata, or for protobuf first, as garbage
// collectors and namespace controllers do in a DELETE; protobuf cannot encode custom resources.
func (s *requestScope) deletesUnconverted(req *http.Request, media negotiation.MediaTypeOptions) bool {
	return s.storage.codec.IsStorageVersion() || printing.IsMetadataOnly(media) ||
		strings.HasPrefix(req.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// form is the version in which an update decodes the stored object and encodes the new one.
type form struct {
	decode func(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error)
	encode encodeFunc
}

// decodeCurrent returns the object of an entry. The error is an unconvertedError unless the entry is corrupt.
func (f form) decodeCurrent(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	obj, err := f.decode(ctx, entry)
	var corrupt *stored.CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		err = &unconvertedError{err}
	}
	return obj, err
}

// encodeFunc is objectCodec.Encode or EncodeStored.
type encodeFunc func(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)

// servedForm is the version of the endpoint, storedForm the version that an object is stored in.
func (s *storage) servedForm() form { return form{decode: s.object, encode: s.codec.Encode} }
func (s *storage) storedForm() form { return form{decode: s.unconverted, encode: s.codec.EncodeStored} }

// unconvertedError is the error of an object that cannot be converted to the version of the endpoint or of the storage.
type unconvertedError struct{ error }

func (e *unconvertedError) Unwrap() error { return e.error }

// unconverted returns the object of an entry in the version it is stored in. The caller owns it.
func (s *storage) unconverted(_ context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := s.codec.StoredView(entry)
	if err != nil {
		return nil, &stored.CorruptError{Key: entry.Key, Err: err}
	}
	return s.codec.Decode(view, entry.Revision)
}

// storedViews returns the views of entries in the versions they are stored in.
func (s *storage) storedViews(entries []*dynamicstorage.Entry) []*dynamicstorage.View {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		var err error
		if views[n], err = s.codec.StoredView(entry); err != nil {
			views[n] = &dynamicstorage.View{Err: err}
		}
	}
	return views
}

// deletedAs returns the answer to a DELETE that left an object: the object, or a Status if the object cannot be
// converted to the version of the endpoint.
func (s *requestScope) deletedAs(ctx context.Context, res result) result {
	if res.entry == nil {
		return res
	}
	if _, err := s.view(ctx, res.entry); err != nil && ctx.Err() == nil {
		return result{obj: &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return res
}

// IsStorageVersion implements objectCodec.
func (c *customResourceCodec) IsStorageVersion() bool { return c.gv == c.storage }

// StoredView implements objectCodec.
func (c *customResourceCodec) StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	compiled, err := c.info.compiled()
	if err != nil {
		return nil, err
	}
	obj, err := decodeStored(entry, compiled.Set)
	if err != nil {
		return nil, err
	}
	value, at, err := objectjson.MarshalObject(obj.Object)
	if err != nil {
		return nil, err
	}
	return c.view(obj, value, at)
}

// EncodeStored is Encode for an object in the version it was stored in. An object that cannot be converted to the
// storage version keeps its version.
func (c *customResourceCodec) EncodeStored(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	value, view, err := c.Encode(ctx, obj)
	if err == nil || ctx.Err() != nil {
		return value, view, err
	}
	u := obj.(*unstructured.Unstructured)
	if c.cbor {
		value, err = encodeCBOR(u)
	} else {
		value, _, err = objectjson.MarshalObject(u.Object)
	}
	return value, nil, err
}
