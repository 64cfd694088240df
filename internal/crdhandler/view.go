package crdhandler

import (
	"context"

	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// view returns the view of an entry in the endpoint's version.
func (s *requestScope) view(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	view, err := s.storage.viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if corrupt := stored.Unreadable(entry, view); corrupt != nil {
		return nil, corrupt
	}
	return view, nil
}

// views returns the views of entries; a conversion webhook gets them in one request (T15). The view of an entry that
// cannot be read has its Err set.
func (s *requestScope) views(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	return s.storage.viewer.Views(ctx, entries)
}

// viewFor returns the function that makes a view for a response in a media type, viewsFor the one for many views.
func (s *requestScope) viewFor(mediaType negotiation.MediaTypeOptions) stored.ViewFunc {
	if printing.IsMetadataOnly(mediaType) {
		return s.metadataView
	}
	return s.view
}

func (s *requestScope) viewsFor(mediaType negotiation.MediaTypeOptions) stored.ViewsFunc {
	if printing.IsMetadataOnly(mediaType) {
		return s.metadataViews
	}
	return s.views
}

// metadataViews is views for responses with nothing but metadata. If a conversion webhook fails, it returns the views
// in the stored versions. It prefers those of the endpoint's version, because a webhook may change labels and
// annotations.
func (s *requestScope) metadataViews(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views, err := s.views(ctx, entries)
	if err == nil || ctx.Err() != nil {
		return views, err
	}
	return s.storage.storedViews(entries), nil
}

// metadataView is metadataViews for one entry.
func (s *requestScope) metadataView(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	views, err := s.metadataViews(ctx, []*dynamicstorage.Entry{entry})
	if err != nil {
		return nil, err
	}
	if corrupt := stored.Unreadable(entry, views[0]); corrupt != nil {
		return nil, corrupt
	}
	return views[0], nil
}
