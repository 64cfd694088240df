package crdhandler

import (
	"context"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/util/apihelpers"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// responder answers one request in the format that it asks for.
type responder struct {
	scope *requestScope
	req   *http.Request
	media *negotiation.MediaTypeOptions
}

// negotiate chooses the format of the answer by the Accept header.
func (s *requestScope) negotiate(req *http.Request) (responder, error) {
	media, err := s.printing().Negotiate(req)
	return responder{scope: s, req: req, media: media}, err
}

// respond answers with one object. JSON of stored objects, and protobuf of built-in ones, is copied from their view.
// All other formats are encoded from the decoded object.
func (r responder) respond(w http.ResponseWriter, code int, res stored.Answer) {
	if res.Entry != nil && r.copies() {
		r.respondBytes(w, code, res.Entry)
		return
	}
	printer, err := r.scope.printing().NewPrinter(r.media, r.req)
	if err != nil {
		r.scope.err(err, w, r.req)
		return
	}
	obj, err := r.printed(printer, res)
	if err != nil {
		r.scope.err(err, w, r.req)
		return
	}
	r.writeObject(w, code, obj)
}

// printed returns the object to encode. If the client wants no more than metadata, nothing else is decoded.
func (r responder) printed(printer printing.Printer, res stored.Answer) (runtime.Object, error) {
	ctx, s, target := r.req.Context(), r.scope, printer.Target()
	if res.Entry != nil && s.Scale == nil && target != nil && target.Kind == "PartialObjectMetadata" {
		view, err := s.Objects.View(ctx, res.Entry)
		if err != nil {
			return nil, s.Objects.APIError(err, stored.Name(res.Entry.Key))
		}
		return printer.Metadata(view, res.Entry.Revision)
	}
	obj, err := r.served(res)
	if err != nil {
		return nil, err
	}
	return printer.Object(ctx, obj)
}

// respondBytes answers with the bytes of an entry's view.
func (r responder) respondBytes(w http.ResponseWriter, code int, entry *dynamicstorage.Entry) {
	view, err := r.view(r.req.Context(), entry)
	if err != nil {
		r.scope.err(r.scope.Objects.APIError(err, stored.Name(entry.Key)), w, r.req)
		return
	}
	object := stored.Object(view, entry.Revision)
	object.Protobuf = r.protobuf().TypeMeta()
	if err := object.Respond(w, r.req, code, r.media.Pretty); err != nil {
		klog.FromContext(r.req.Context()).V(4).Info("Client went away during a response", "err", err)
	}
}

// served returns the object of an answer in the hub version. At the scale endpoint it is the Scale.
func (r responder) served(res stored.Answer) (runtime.Object, error) {
	s, obj := r.scope, res.Obj
	if res.Entry != nil {
		var err error
		if obj, err = s.Objects.Object(r.req.Context(), res.Entry); err != nil {
			return nil, s.Objects.APIError(err, stored.Name(res.Entry.Key))
		}
	}
	// The result of a write is a Scale already.
	if _, made := obj.(*autoscalingv1.Scale); s.Scale != nil && !made {
		return s.Scale.Of(obj)
	}
	return obj, nil
}

// writeObject encodes an object that was transformed already, in the negotiated format.
func (r responder) writeObject(w http.ResponseWriter, code int, obj runtime.Object) {
	gv, serializer := r.scope.Kind.GroupVersion(), r.scope.serializer
	if target := r.media.Convert; target != nil {
		gv, serializer = target.GroupVersion(), apihelpers.GetMetaInternalVersionCodecs()
	}
	if r.media.Accepted.MediaType == runtime.ContentTypeYAML {
		serializer = printing.BoundedYAML{NegotiatedSerializer: serializer}
	}
	responsewriters.WriteObjectNegotiated(serializer, r.scope.printing(), gv, w, r.req, code, obj, false)
}

// printing returns the formats of the endpoint.
func (s *requestScope) printing() *printing.Endpoint {
	return &printing.Endpoint{
		Kind:              s.Kind,
		Serializer:        s.serializer,
		ObjectSerializers: s.standardSerializers,
		Table:             s.columns,
		Convertor:         s.Interfaces.Convertor,
	}
}

// copies reports whether the answer is copied from the bytes of views, so that it takes no memory of its own.
func (r responder) copies() bool {
	if r.media.Convert != nil || r.scope.Scale != nil || logsResponseObject(r.req.Context()) {
		return false
	}
	switch r.media.Accepted.MediaType {
	case runtime.ContentTypeJSON:
		return true
	case runtime.ContentTypeProtobuf:
		return r.scope.Objects.Protobuf != nil
	}
	return false
}

// logsResponseObject reports whether the audit policy logs the answer as an object.
func logsResponseObject(ctx context.Context) bool {
	log := audit.AuditContextFrom(ctx)
	return log != nil && !log.GetEventLevel().Less(auditinternal.LevelRequestResponse)
}

// protobuf returns the protobuf that the answer is copied from; nil for every other answer.
func (r responder) protobuf() *stored.Protobuf {
	if r.media.Accepted.MediaType == runtime.ContentTypeProtobuf && r.copies() {
		return r.scope.Objects.Protobuf
	}
	return nil
}

// viewer returns the viewer of the bytes that the answer is copied from, or decoded.
func (r responder) viewer() *dynamicstorage.Viewer {
	if protobuf := r.protobuf(); protobuf != nil {
		return protobuf.Viewer
	}
	return r.scope.Objects.Viewer
}

// view returns the view of an entry for the answer.
func (r responder) view(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	return stored.ViewFrom(r.viewer())(ctx, entry)
}
