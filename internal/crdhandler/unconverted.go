package crdhandler

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
)

// Objects can be deleted while their conversion webhook is down, if the client needs nothing of another version. When
// the conversion fails, the deletion continues with the objects in the version they are stored in.

// deletesUnconverted reports whether a DELETE continues without the webhook. Upstream's never does, and its suite
// checks that for clients that get objects of a version that is not stored. Ours does at the endpoint of the storage
// version, and for clients that only want metadata. These ask for metadata, or for protobuf first, as garbage
// collectors and namespace controllers do in a DELETE; protobuf cannot encode custom resources.
func (r responder) deletesUnconverted() bool {
	return r.scope.Objects.Codec.IsStorageVersion() || printing.IsMetadataOnly(r.media) ||
		strings.HasPrefix(r.req.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// deletedAs returns the answer to a DELETE that left an object: the object, or a Status if the object cannot be
// converted to the version of the endpoint.
func (r responder) deletedAs(ctx context.Context, res result) result {
	if res.entry == nil {
		return res
	}
	if _, err := r.scope.Objects.View(ctx, res.entry); err != nil && ctx.Err() == nil {
		return result{obj: &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return res
}
