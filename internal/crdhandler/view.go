package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// viewFor returns the function that makes a view for a response in a media type, viewsFor the one for many views: a
// conversion webhook gets these in one request (T15).
func (s *requestScope) viewFor(ctx context.Context, mediaType negotiation.MediaTypeOptions) stored.ViewFunc {
	return stored.ViewFrom(s.viewerFor(ctx, mediaType))
}

func (s *requestScope) viewsFor(ctx context.Context, mediaType negotiation.MediaTypeOptions) stored.ViewsFunc {
	return s.viewerFor(ctx, mediaType).Views
}

// viewerFor returns the viewer of the bytes that a response is copied from, or decoded.
func (s *requestScope) viewerFor(ctx context.Context, mediaType negotiation.MediaTypeOptions) *dynamicstorage.Viewer {
	if protobuf := s.protobufFor(ctx, mediaType); protobuf != nil {
		return protobuf.Viewer
	}
	return s.Objects.Viewer
}

// protobufFor returns the protobuf that a response is copied from; nil for every other response.
func (s *requestScope) protobufFor(ctx context.Context, mediaType negotiation.MediaTypeOptions) *stored.Protobuf {
	if mediaType.Accepted.MediaType == runtime.ContentTypeProtobuf && s.copies(ctx, mediaType) {
		return s.Objects.Protobuf
	}
	return nil
}
