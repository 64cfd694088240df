package crdhandler

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/util/apihelpers"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// result is the answer of a verb: a stored entry, or an object where nothing is stored.
type result struct {
	// entry is the stored object; nil in a dry run.
	entry *dynamicstorage.Entry
	// obj is the object of a dry run in the hub version, or a Status.
	obj runtime.Object
}

// respond answers a request with one object. JSON of stored objects is copied from their view. All other formats are
// encoded from the decoded object.
func (s *requestScope) respond(w http.ResponseWriter, req *http.Request, code int, mediaType negotiation.MediaTypeOptions, res result) {
	options, err := tableOptions(mediaType, req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	if res.entry != nil && s.fromBytes(mediaType) && !logsResponseObject(req.Context()) {
		s.respondBytes(w, req, code, mediaType.Pretty, res.entry)
		return
	}
	obj, err := s.transformed(req.Context(), s.transformer(mediaType.Convert, options), res)
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.writeObject(w, req, code, mediaType, obj)
}

// transformed returns the object that is to be encoded.
func (s *requestScope) transformed(ctx context.Context, t transformer, res result) (runtime.Object, error) {
	if res.entry != nil && s.scale == nil && t.target != nil && t.target.Kind == "PartialObjectMetadata" {
		return t.metadataOfEntry(ctx, res.entry)
	}
	obj, err := s.served(ctx, res)
	if err != nil {
		return nil, err
	}
	return t.transform(ctx, obj)
}

// respondBytes answers with the bytes of an entry's view.
func (s *requestScope) respondBytes(w http.ResponseWriter, req *http.Request, code int, pretty bool, entry *dynamicstorage.Entry) {
	view, err := s.view(req.Context(), entry)
	if err != nil {
		s.err(s.storageError(err, nameOfKey(entry.Key)), w, req)
		return
	}
	object := wireObject(view, entry.Revision)
	buffer := objectBuffers.Get().(*[]byte)
	defer objectBuffers.Put(buffer)
	body, err := object.Encode((*buffer)[:0], pretty)
	if err != nil {
		s.err(err, w, req)
		return
	}
	if cap(body) <= maxPooledObject {
		*buffer = body
	}
	if err := wire.WriteBody(w, req, code, wire.JSON, body); err != nil {
		klog.FromContext(req.Context()).V(4).Info("Client went away during an answer", "err", err)
	}
}

// served returns the object of an answer in the hub version. At the scale endpoint it is the Scale.
func (s *requestScope) served(ctx context.Context, res result) (runtime.Object, error) {
	obj := res.obj
	if res.entry != nil {
		var err error
		if obj, err = s.decoded(ctx, res.entry); err != nil {
			return nil, s.storageError(err, nameOfKey(res.entry.Key))
		}
	}
	// A stored object is always unstructured here; a Scale and a Status are not.
	if stored, ok := obj.(*unstructured.Unstructured); ok && s.scale != nil {
		return s.scale.read(stored)
	}
	return obj, nil
}

// writeObject encodes an object that was transformed already, in the negotiated format.
func (s *requestScope) writeObject(w http.ResponseWriter, req *http.Request, code int, mediaType negotiation.MediaTypeOptions, obj runtime.Object) {
	gv, serializer := s.kind.GroupVersion(), s.serializer
	if target := mediaType.Convert; target != nil {
		gv, serializer = target.GroupVersion(), apihelpers.GetMetaInternalVersionCodecs()
	}
	responsewriters.WriteObjectNegotiated(serializer, s, gv, w, req, code, obj, false)
}

// logsResponseObject reports whether the audit policy logs the answer as an object.
func logsResponseObject(ctx context.Context) bool {
	log := audit.AuditContextFrom(ctx)
	return log != nil && !log.GetEventLevel().Less(auditinternal.LevelRequestResponse)
}
