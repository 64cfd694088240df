package crdhandler

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// A conversion webhook that is down must not keep objects from being deleted, nor their metadata from being read, where
// nothing of another version is wanted. So where it fails, both go on with objects in the version they are stored in.

// deletesUnconverted says whether a DELETE goes on without the webhook. Upstream's never does, and its suite holds that for
// clients that are answered with objects of a version that is not stored. It does at the endpoint of the storage version, and for
// clients that want no more than metadata. Those ask for that, or, as garbage collectors and namespace controllers do in a
// DELETE, for protobuf first, in which no custom resource can be had.
func (s *requestScope) deletesUnconverted(req *http.Request, media negotiation.MediaTypeOptions) bool {
	return s.storage.codec.stores() || isMetadataOnly(media) ||
		strings.HasPrefix(req.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// form is how an update sees the stored object, and stores what becomes of it.
type form struct {
	object func(ctx context.Context, entry *dynamicstorage.Entry) (runtime.Object, error)
	encode encodeFunc
}

// encodeFunc is objectCodec.encode or reencode.
type encodeFunc func(ctx context.Context, obj runtime.Object) (value []byte, view *dynamicstorage.View, err error)

// servedForm is that of the version, storedForm that of the version an object is stored in.
func (s *storage) servedForm() form { return form{object: s.object, encode: s.codec.encode} }
func (s *storage) storedForm() form { return form{object: s.unconverted, encode: s.codec.reencode} }

// unconvertedError says that an object could not be had in a version, or not be stored.
type unconvertedError struct{ error }

func (e *unconvertedError) Unwrap() error { return e.error }

// unconverted returns a new object made of entry, in the version it is stored in; the caller owns it.
func (s *storage) unconverted(_ context.Context, entry *dynamicstorage.Entry) (runtime.Object, error) {
	view, err := s.codec.unconverted(entry)
	if err != nil {
		return nil, &corruptError{key: entry.Key, err: err}
	}
	return s.codec.decode(view, entry.Revision)
}

// viewsFunc makes views of entries, as requestScope.views does.
type viewsFunc func(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error)

// viewsFor returns what makes the views of an answer in a format.
func (s *requestScope) viewsFor(mediaType negotiation.MediaTypeOptions) viewsFunc {
	if isMetadataOnly(mediaType) {
		return s.metadataViews
	}
	return s.views
}

// isMetadataOnly says that an answer has nothing of objects but their metadata.
func isMetadataOnly(mediaType negotiation.MediaTypeOptions) bool {
	return mediaType.Convert != nil && (mediaType.Convert.Kind == "PartialObjectMetadata" || mediaType.Convert.Kind == "PartialObjectMetadataList")
}

// metadataViews is views for those who want metadata only. A webhook may change labels and annotations, so the version's views are
// preferred.
func (s *requestScope) metadataViews(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views, err := s.views(ctx, entries)
	if err == nil || ctx.Err() != nil {
		return views, err
	}
	return s.storage.storedViews(entries), nil
}

// storedViews returns the views of entries in the versions they are stored in.
func (s *storage) storedViews(entries []*dynamicstorage.Entry) []*dynamicstorage.View {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		var err error
		if views[n], err = s.codec.unconverted(entry); err != nil {
			views[n] = &dynamicstorage.View{Err: err}
		}
	}
	return views
}

// deletedAs returns what a DELETE that left an object answers with: the object, or that it succeeded, if the object cannot be had in
// the version asked for.
func (s *requestScope) deletedAs(ctx context.Context, res result, media negotiation.MediaTypeOptions) result {
	if res.entry == nil || isMetadataOnly(media) {
		return res
	}
	if _, err := s.view(ctx, res.entry); err != nil && ctx.Err() == nil {
		return result{obj: &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return res
}

// viewFunc makes the view of one entry, as requestScope.view does.
type viewFunc func(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error)

// viewFor is viewsFor for one object.
func (s *requestScope) viewFor(mediaType negotiation.MediaTypeOptions) viewFunc {
	if isMetadataOnly(mediaType) {
		return s.metadataView
	}
	return s.view
}

func (s *requestScope) metadataView(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	views, err := s.metadataViews(ctx, []*dynamicstorage.Entry{entry})
	if err != nil {
		return nil, err
	}
	if corrupt := unreadable(entry, views[0]); corrupt != nil {
		return nil, corrupt
	}
	return views[0], nil
}

// metadataOfEntry returns the metadata of an object.
func (t transformer) metadataOfEntry(ctx context.Context, entry *dynamicstorage.Entry) (*metav1.PartialObjectMetadata, error) {
	view, err := t.scope.metadataView(ctx, entry)
	if err != nil {
		return nil, t.scope.storageError(err, nameOfKey(entry.Key))
	}
	return t.metadataOfView(view, entry.Revision)
}

// stores says that objects are stored in the version of the endpoint.
func (c *customResourceCodec) stores() bool { return c.gv == c.storage }

// unconverted returns the view of an entry in the version it is stored in.
func (c *customResourceCodec) unconverted(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	compiled, err := c.info.compiled()
	if err != nil {
		return nil, err
	}
	obj, err := decodeStored(entry, compiled.schemas)
	if err != nil {
		return nil, err
	}
	value, at, err := objectjson.MarshalObject(obj.Object)
	if err != nil {
		return nil, err
	}
	return c.view(obj, value, at)
}

// reencode is encode for an object in the version it was stored in: if it cannot be converted to the storage version, it
// stays in its own.
func (c *customResourceCodec) reencode(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	value, view, err := c.encode(ctx, obj)
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
