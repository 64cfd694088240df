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
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// result is the answer of a verb: a stored entry, or an object where nothing is stored.
type result struct {
	// entry is the stored object; nil in a dry run.
	entry *dynamicstorage.Entry
	// obj is the object of a dry run in the hub version, or a Status.
	obj runtime.Object
}

// written returns the answer to a write.
func written(res write.Result) result { return result{entry: res.Entry, obj: res.Obj} }

// respond answers a request with one object. JSON of stored objects, and protobuf of built-in ones, is copied from
// their view. All other formats are encoded from the decoded object.
func (s *requestScope) respond(w http.ResponseWriter, req *http.Request, code int, mediaType negotiation.MediaTypeOptions, res result) {
	if res.entry != nil && s.copies(req.Context(), mediaType) {
		s.respondBytes(w, req, code, mediaType, res.entry)
		return
	}
	printer, err := s.printing().NewPrinter(mediaType, req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	obj, err := s.printed(req.Context(), printer, res)
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.writeObject(w, req, code, mediaType, obj)
}

// printed returns the object to encode. If the client wants no more than metadata, nothing else is decoded.
func (s *requestScope) printed(ctx context.Context, printer printing.Printer, res result) (runtime.Object, error) {
	if target := printer.Target(); res.entry != nil && s.Scale == nil && target != nil && target.Kind == "PartialObjectMetadata" {
		view, err := s.Objects.View(ctx, res.entry)
		if err != nil {
			return nil, s.Objects.APIError(err, stored.Name(res.entry.Key))
		}
		return printer.Metadata(view, res.entry.Revision)
	}
	obj, err := s.served(ctx, res)
	if err != nil {
		return nil, err
	}
	return printer.Object(ctx, obj)
}

// respondBytes answers with the bytes of an entry's view.
func (s *requestScope) respondBytes(w http.ResponseWriter, req *http.Request, code int, mediaType negotiation.MediaTypeOptions, entry *dynamicstorage.Entry) {
	view, err := s.viewFor(req.Context(), mediaType)(req.Context(), entry)
	if err != nil {
		s.err(s.Objects.APIError(err, stored.Name(entry.Key)), w, req)
		return
	}
	object := stored.Object(view, entry.Revision)
	object.Protobuf = s.protobufFor(req.Context(), mediaType).TypeMeta()
	if err := object.Respond(w, req, code, mediaType.Pretty); err != nil {
		klog.FromContext(req.Context()).V(4).Info("Client went away during a response", "err", err)
	}
}

// served returns the object of an answer in the hub version. At the scale endpoint it is the Scale.
func (s *requestScope) served(ctx context.Context, res result) (runtime.Object, error) {
	obj := res.obj
	if res.entry != nil {
		var err error
		if obj, err = s.Objects.Object(ctx, res.entry); err != nil {
			return nil, s.Objects.APIError(err, stored.Name(res.entry.Key))
		}
	}
	// The result of a write is a Scale already.
	if _, made := obj.(*autoscalingv1.Scale); s.Scale != nil && !made {
		return s.Scale.Of(obj)
	}
	return obj, nil
}

// writeObject encodes an object that was transformed already, in the negotiated format.
func (s *requestScope) writeObject(w http.ResponseWriter, req *http.Request, code int, mediaType negotiation.MediaTypeOptions, obj runtime.Object) {
	gv, serializer := s.Kind.GroupVersion(), s.serializer
	if target := mediaType.Convert; target != nil {
		gv, serializer = target.GroupVersion(), apihelpers.GetMetaInternalVersionCodecs()
	}
	if mediaType.Accepted.MediaType == runtime.ContentTypeYAML {
		serializer = printing.BoundedYAML{NegotiatedSerializer: serializer}
	}
	responsewriters.WriteObjectNegotiated(serializer, s.printing(), gv, w, req, code, obj, false)
}

// negotiate chooses the format of the response by the Accept header.
func (s *requestScope) negotiate(req *http.Request) (negotiation.MediaTypeOptions, error) {
	return s.printing().Negotiate(req)
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

// fromBytes reports whether a response in this format consists of the bytes of views.
func (s *requestScope) fromBytes(mediaType negotiation.MediaTypeOptions) bool {
	accepted := mediaType.Accepted.MediaType
	return mediaType.Convert == nil && s.Scale == nil &&
		(accepted == runtime.ContentTypeJSON || accepted == runtime.ContentTypeProtobuf && s.Objects.Protobuf != nil)
}

// copies reports whether a response is copied from the bytes of views, so that it takes no memory of its own.
func (s *requestScope) copies(ctx context.Context, mediaType negotiation.MediaTypeOptions) bool {
	return s.fromBytes(mediaType) && !logsResponseObject(ctx)
}

// logsResponseObject reports whether the audit policy logs the answer as an object.
func logsResponseObject(ctx context.Context) bool {
	log := audit.AuditContextFrom(ctx)
	return log != nil && !log.GetEventLevel().Less(auditinternal.LevelRequestResponse)
}
