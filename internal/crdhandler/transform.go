package crdhandler

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/util/apihelpers"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// transformer makes of objects what a client has asked for instead: a Table or their metadata.
type transformer struct {
	scope *requestScope
	// target is the kind asked for; nil: objects as they are.
	target *schema.GroupVersionKind
	// options are set for a Table.
	options *metav1.TableOptions
}

func (s *requestScope) transformer(target *schema.GroupVersionKind, options *metav1.TableOptions) transformer {
	return transformer{scope: s, target: target, options: options}
}

// transform returns what is to be encoded for obj, an object or a list. A Status stays a Status.
func (t transformer) transform(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	if _, isStatus := obj.(*metav1.Status); isStatus || t.target == nil {
		return obj, nil
	}
	switch t.target.Kind {
	case "Table":
		return t.table(ctx, obj)
	case "PartialObjectMetadata":
		return t.metadata(obj)
	case "PartialObjectMetadataList":
		return t.metadataList(obj)
	}
	accepted, _ := negotiation.MediaTypesForSerializer(apihelpers.GetMetaInternalVersionCodecs())
	return nil, negotiation.NewNotAcceptableError(accepted)
}

func (t transformer) metadata(obj runtime.Object) (runtime.Object, error) {
	if meta.IsListType(obj) {
		return nil, notAcceptable("you requested PartialObjectMetadata, but the requested object is a list (%T)", obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return partialMetadata(m, t.target.GroupVersion()), nil
}

func partialMetadata(m metav1.Object, gv schema.GroupVersion) *metav1.PartialObjectMetadata {
	partial := meta.AsPartialObjectMetadata(m)
	partial.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return partial
}

func (t transformer) metadataList(obj runtime.Object) (runtime.Object, error) {
	list, ok := obj.(metav1.ListInterface)
	if !ok {
		return nil, notAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", obj)
	}
	var items []metav1.PartialObjectMetadata
	err := meta.EachListItem(obj, func(item runtime.Object) error {
		m, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		items = append(items, *partialMetadata(m, t.target.GroupVersion()))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return partialList(items, list, t.target.GroupVersion()), nil
}

// partialList returns a PartialObjectMetadataList of the version asked for.
func partialList(items []metav1.PartialObjectMetadata, list metav1.ListInterface, gv schema.GroupVersion) runtime.Object {
	listMeta := metav1.ListMeta{
		ResourceVersion:    list.GetResourceVersion(),
		Continue:           list.GetContinue(),
		RemainingItemCount: list.GetRemainingItemCount(),
	}
	if gv == metav1beta1.SchemeGroupVersion {
		return &metav1beta1.PartialObjectMetadataList{ListMeta: listMeta, Items: items}
	}
	return &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: items}
}

// notAcceptable is the answer to a transformation that does not fit the endpoint.
func notAcceptable(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotAcceptable,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: fmt.Sprintf(format, args...),
	}}
}

// metadataOfPage returns a page as a list of metadata. Nothing but the metadata of the objects is decoded.
func (t transformer) metadataOfPage(p *page) (runtime.Object, error) {
	var items []metav1.PartialObjectMetadata // null for none, as upstream
	if len(p.entries) > 0 {
		items = make([]metav1.PartialObjectMetadata, len(p.entries))
	}
	for n, entry := range p.entries {
		partial, err := t.metadataOfView(p.views[n], entry.Revision)
		if err != nil {
			return nil, t.scope.storageError(&corruptError{key: entry.Key, err: err}, nameOfKey(entry.Key))
		}
		items[n] = *partial
	}
	var listMeta metav1.ListMeta
	p.setListMeta(&listMeta)
	return partialList(items, &listMeta, t.target.GroupVersion()), nil
}

// metadataOfView returns the metadata of an object.
func (t transformer) metadataOfView(view *dynamicstorage.View, revision int64) (*metav1.PartialObjectMetadata, error) {
	partial := &metav1.PartialObjectMetadata{}
	if err := utiljson.Unmarshal(view.JSON, partial); err != nil {
		return nil, fmt.Errorf("decoding metadata: %w", err)
	}
	partial.SetGroupVersionKind(t.target.GroupVersion().WithKind("PartialObjectMetadata"))
	partial.SetResourceVersion(strconv.FormatInt(revision, 10))
	return partial, nil
}
