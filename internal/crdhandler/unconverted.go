package crdhandler

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
)

// Objects can be deleted while their conversion webhook is down, if the client needs nothing of another version. When
// the conversion fails, the deletion continues with the objects in the version they are stored in.

// deletesUnconverted reports whether a DELETE continues without the webhook. Upstream's never does, and its suite
// checks that for clients that get objects of a version that is not stored. Ours does at the endpoint of the storage
// version, and for clients that only want metadata. These ask for metadata, or for protobuf first, as garbage
// collectors and namespace controllers do in a DELETE; protobuf cannot encode custom resources.
func (s *requestScope) deletesUnconverted(req *http.Request, media negotiation.MediaTypeOptions) bool {
	return s.Objects.Codec.IsStorageVersion() || printing.IsMetadataOnly(media) ||
		strings.HasPrefix(req.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// deletedAs returns the answer to a DELETE that left an object: the object, or a Status if the object cannot be
// converted to the version of the endpoint.
func (s *requestScope) deletedAs(ctx context.Context, res result) result {
	if res.entry == nil {
		return res
	}
	if _, err := s.Objects.View(ctx, res.entry); err != nil && ctx.Err() == nil {
		return result{obj: &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return res
}
