package crdhandler

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/listing"
	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/wire"
)

// list answers with the objects of a resource or, if the path (watch) or the query asks for it, with a watch of them.
func (s *requestScope) list(w http.ResponseWriter, req *http.Request, watch bool) {
	answer, err := s.negotiate(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	opts, err := s.listOptions(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	if watch || opts.Watch {
		s.serveWatch(w, opts, answer)
		return
	}
	namespace, _ := s.target(req)
	// A conversion webhook gets all objects of the page in one request (T15).
	page, err := s.readPage(req.Context(), namespace, opts, answer.viewer().Views)
	if err == nil && !answer.copies() {
		err = budget.Reserve(req.Context(), page.Size())
	}
	if err != nil {
		s.err(err, w, req)
		return
	}
	answer.respondList(w, page)
}

// listOptions reads the query of a list, watch or deletecollection, and the name in the path if there is one.
func (s *requestScope) listOptions(req *http.Request) (*metainternal.ListOptions, error) {
	_, name := s.target(req)
	return selection.Options(req, name, func(label, value string) (string, string, error) {
		return s.Interfaces.Convertor.ConvertFieldLabel(s.Kind, label, value)
	})
}

// selection returns the objects that a request selects.
func (s *requestScope) selection(namespace string, opts *metainternal.ListOptions) selection.Selection {
	request := selection.Request{Namespaced: s.Namespaced, Namespace: namespace, Options: opts}
	return selection.New(request, selection.Index{Viewer: s.Objects.Viewer, StoredLabels: s.Objects.Codec.KeepsLabels})
}

// readPage reads the page that a list asks for. views makes what the page shows of the objects.
func (s *requestScope) readPage(
	ctx context.Context, namespace string, opts *metainternal.ListOptions, views stored.ViewsFunc,
) (*listing.Page, error) {
	query, err := listing.NewQuery(s.selection(namespace, opts), opts, !s.config.WithoutWatchCache)
	if err != nil {
		return nil, err
	}
	page, err := query.Read(ctx, s.Objects.Resource, views)
	if err != nil {
		return nil, s.Objects.ListError(err)
	}
	return page, nil
}

// compressedLists are compressed parts of the lists of a version.
type compressedLists struct{ json, protobuf listing.Chunks }

// respondList answers with a page. JSON, and protobuf of built-in objects, is written item by item from the views.
func (r responder) respondList(w http.ResponseWriter, page *listing.Page) {
	s, ctx := r.scope, r.req.Context()
	if r.copies() {
		list := wire.List{
			APIVersion: s.listKind.GroupVersion().String(),
			Kind:       s.listKind.Kind,
			Typed:      s.Typed,
			ItemKind:   s.Kind.Kind,
			Pretty:     r.media.Pretty,
		}
		chunks := &s.lists.json
		if r.protobuf() != nil {
			list.Protobuf, chunks = true, &s.lists.protobuf
		}
		if err := page.Write(w, r.req, list, chunks); err != nil {
			klog.FromContext(ctx).V(4).Info("Client went away during a list", "err", err)
		}
		return
	}
	printer, err := s.printing().NewPrinter(r.media, r.req)
	if err != nil {
		s.err(err, w, r.req)
		return
	}
	obj, err := printer.Page(ctx, page, s.listObject)
	if err != nil {
		s.err(s.Objects.APIError(err, ""), w, r.req)
		return
	}
	r.writeObject(w, http.StatusOK, obj)
}

// listObject returns a page as a list of objects in the hub version.
func (s *requestScope) listObject(page *listing.Page) (runtime.Object, error) {
	items := make([]runtime.Object, len(page.Entries))
	for n, entry := range page.Entries {
		var err error
		if items[n], err = s.Objects.Codec.Decode(page.Views[n], entry.Revision); err != nil {
			return nil, &stored.CorruptError{Key: entry.Key, Err: err}
		}
		if s.Typed {
			items[n].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the list says it
		}
	}
	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(s.listKind)
	list := runtime.Object(untyped)
	if s.Typed {
		var err error
		if list, err = s.Interfaces.Creater.New(s.hub.WithKind(s.listKind.Kind)); err != nil {
			return nil, err
		}
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("filling %s: %w", s.listKind.Kind, err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	page.SetListMeta(m)
	return list, nil
}
