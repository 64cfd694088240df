package crdhandler

import (
	"net/http"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/watch"
)

// watch answers with a stream of changes. It shares listOrWatch (list.go) with list, whose query may ask for a watch.
func (s *requestScope) watch(w http.ResponseWriter, req *http.Request) {
	s.listOrWatch(w, req, true)
}

// serveWatch serves the watch that a request asks for.
func (s *requestScope) serveWatch(w http.ResponseWriter, req *http.Request, opts *metainternal.ListOptions, mediaType negotiation.MediaTypeOptions) {
	namespace, _ := s.target(req)
	err := watch.Serve(w, req, watch.Config{
		Resource:   s.Resource,
		Objects:    s.Objects.Resource,
		Selection:  s.selection(namespace, opts),
		Options:    opts,
		Endpoint:   s.printing(),
		MediaType:  mediaType,
		View:       s.viewFor(req.Context(), mediaType),
		Views:      s.viewsFor(req.Context(), mediaType),
		Protobuf:   s.protobufFor(req.Context(), mediaType).TypeMeta(),
		Decode:     s.Objects.Codec.Decode,
		NewObject:  s.newObject,
		APIError:   s.Objects.ListError,
		MinTimeout: s.config.MinRequestTimeout,
		Replaced:   s.replaced,
		Shutdown:   s.config.shutdown,
	})
	if err != nil {
		s.err(err, w, req)
	}
}
