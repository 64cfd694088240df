package crdhandler

import (
	"net/http"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/watch"
)

// serveWatch answers a list (list.go) that asks for a watch with a stream of changes.
func (s *requestScope) serveWatch(w http.ResponseWriter, opts *metainternal.ListOptions, answer responder) {
	namespace, _ := s.target(answer.req)
	viewer := answer.viewer()
	err := watch.Serve(w, answer.req, watch.Config{
		Resource:   s.Resource,
		Objects:    s.Objects.Resource,
		Selection:  s.selection(namespace, opts),
		Options:    opts,
		Endpoint:   s.printing(),
		MediaType:  answer.media,
		View:       stored.ViewFrom(viewer),
		Views:      viewer.Views,
		Protobuf:   answer.protobuf().TypeMeta(),
		Decode:     s.Objects.Codec.Decode,
		NewObject:  s.newObject,
		APIError:   s.Objects.ListError,
		MinTimeout: s.config.MinRequestTimeout,
		Replaced:   s.replaced,
		Shutdown:   s.config.shutdown,
	})
	if err != nil {
		s.err(err, w, answer.req)
	}
}
