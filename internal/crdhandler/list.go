package crdhandler

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/wire"
)

// list answers with the objects of a resource, or with a watch of them where the query says so.
func (s *requestScope) list(w http.ResponseWriter, req *http.Request) {
	s.listOrWatch(w, req, false)
}

// watch answers with a stream of changes.
func (s *requestScope) watch(w http.ResponseWriter, req *http.Request) {
	s.listOrWatch(w, req, true)
}

// listOrWatch reads what both have in common. A path can ask for a watch (watch) as well as the query.
func (s *requestScope) listOrWatch(w http.ResponseWriter, req *http.Request, watch bool) {
	namespace, _ := s.target(req)
	mediaType, err := s.negotiate(req)
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
		s.serveWatch(w, req, watchRequest{namespace: namespace, opts: opts, mediaType: mediaType})
		return
	}
	p, err := s.readPage(req.Context(), namespace, opts, s.viewsFor(mediaType))
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.respondList(w, req, mediaType, p)
}

// respondList answers with a page. JSON is written item by item from the views.
func (s *requestScope) respondList(w http.ResponseWriter, req *http.Request, mediaType negotiation.MediaTypeOptions, p *page) {
	options, err := tableOptions(mediaType, req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	if s.fromBytes(mediaType) && !logsResponseObject(req.Context()) {
		if err := s.writeList(w, req, mediaType.Pretty, p); err != nil {
			klog.FromContext(req.Context()).V(4).Info("Client went away during a list", "err", err)
		}
		return
	}
	obj, err := s.listAs(req.Context(), s.transformer(mediaType.Convert, options), p)
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.writeObject(w, req, http.StatusOK, mediaType, obj)
}

// writeList streams a page as JSON.
func (s *requestScope) writeList(w http.ResponseWriter, req *http.Request, pretty bool, p *page) error {
	list := wire.List{
		APIVersion:         s.listKind.GroupVersion().String(),
		Kind:               s.listKind.Kind,
		ResourceVersion:    p.resourceVersion(),
		Continue:           p.next,
		RemainingItemCount: p.remaining,
		Typed:              s.typed(),
		ItemKind:           s.kind.Kind,
		Pretty:             pretty,
	}
	compressed := false
	if wire.AcceptsGzip(req) {
		var err error
		if compressed, err = list.Longer(wire.GzipThreshold, p.items()); err != nil {
			return err
		}
	}
	if !compressed {
		wire.WriteHeader(w, http.StatusOK, wire.JSON)
		return list.Write(w, p.items())
	}
	return wire.WriteGzip(w, http.StatusOK, wire.JSON, func(body *wire.Gzip) error {
		if pretty {
			return list.Write(body, p.items())
		}
		return s.writeRuns(body, list, p)
	})
}

func (p *page) resourceVersion() string { return strconv.FormatInt(p.revision, 10) }

// items returns the objects of the page as they are served.
func (p *page) items() iter.Seq[wire.Object] { return p.objects(0, len(p.entries)) }

// typed says that objects of the endpoint are Go types rather than unstructured.
func (s *requestScope) typed() bool { return s.hub.Version == runtime.APIVersionInternal }

// listAs returns a page as the object that is to be encoded.
func (s *requestScope) listAs(ctx context.Context, t transformer, p *page) (runtime.Object, error) {
	if t.target != nil {
		switch t.target.Kind {
		case "PartialObjectMetadataList":
			return t.metadataOfPage(p)
		case "Table":
			return t.tableOfPage(ctx, p)
		}
	}
	list, err := s.listObject(p)
	if err != nil {
		return nil, err
	}
	return t.transform(ctx, list)
}

// listObject returns a page as a list of objects in the hub version.
func (s *requestScope) listObject(p *page) (runtime.Object, error) {
	items := make([]runtime.Object, len(p.entries))
	for n, entry := range p.entries {
		var err error
		if items[n], err = s.storage.codec.decode(p.views[n], entry.Revision); err != nil {
			return nil, s.storageError(&corruptError{key: entry.Key, err: err}, nameOfKey(entry.Key))
		}
	}
	list, err := s.newList()
	if err != nil {
		return nil, err
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("filling %s: %w", s.listKind.Kind, err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	p.setListMeta(m)
	return list, nil
}

// newList returns an empty list of the endpoint's objects.
func (s *requestScope) newList() (runtime.Object, error) {
	if s.typed() {
		return s.objects.creater.New(s.hub.WithKind(s.listKind.Kind))
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(s.listKind)
	return list, nil
}

func (p *page) setListMeta(m metav1.ListInterface) {
	m.SetResourceVersion(p.resourceVersion())
	m.SetContinue(p.next)
	m.SetRemainingItemCount(p.remaining)
}
