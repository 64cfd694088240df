package printing

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crd-server/crd-server/internal/crdhandler/listing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Metadata returns the metadata of a view. It decodes nothing else.
func (p Printer) Metadata(view *dynamicstorage.View, revision int64) (*metav1.PartialObjectMetadata, error) {
	partial := &metav1.PartialObjectMetadata{}
	if err := utiljson.Unmarshal(view.Bytes, partial); err != nil {
		return nil, fmt.Errorf("decoding metadata: %w", err)
	}
	partial.SetGroupVersionKind(p.target.GroupVersion().WithKind("PartialObjectMetadata"))
	partial.SetResourceVersion(strconv.FormatInt(revision, 10))
	return partial, nil
}

// metadataOfPage returns a page as a list of metadata. It decodes nothing else.
func (p Printer) metadataOfPage(page *listing.Page) (runtime.Object, error) {
	var items []metav1.PartialObjectMetadata // encoded as null if there are none, as upstream does
	if len(page.Entries) > 0 {
		items = make([]metav1.PartialObjectMetadata, len(page.Entries))
	}
	for n, entry := range page.Entries {
		partial, err := p.Metadata(page.Views[n], entry.Revision)
		if err != nil {
			return nil, &stored.CorruptError{Key: entry.Key, Err: err}
		}
		items[n] = *partial
	}
	var listMeta metav1.ListMeta
	page.SetListMeta(&listMeta)
	return partialList(items, &listMeta, p.target.GroupVersion()), nil
}

func (p Printer) metadata(obj runtime.Object) (runtime.Object, error) {
	if meta.IsListType(obj) {
		return nil, notAcceptable("you requested PartialObjectMetadata, but the requested object is a list (%T)", obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return partialMetadata(m, p.target.GroupVersion()), nil
}

func (p Printer) metadataList(obj runtime.Object) (runtime.Object, error) {
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
		items = append(items, *partialMetadata(m, p.target.GroupVersion()))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return partialList(items, list, p.target.GroupVersion()), nil
}

func partialMetadata(m metav1.Object, gv schema.GroupVersion) *metav1.PartialObjectMetadata {
	partial := meta.AsPartialObjectMetadata(m)
	partial.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return partial
}

// partialList returns a PartialObjectMetadataList in the version gv.
func partialList(
	items []metav1.PartialObjectMetadata, list metav1.ListInterface, gv schema.GroupVersion,
) runtime.Object {
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
