package crdhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"weak"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/apihelpers"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// eventEncoder makes frames of events in the format a client wants. It belongs to one watch.
type eventEncoder struct {
	scope *requestScope
	ctx   context.Context
	// mediaType is what the answer is called, framer how frames are told apart in it.
	mediaType string
	framer    runtime.Framer
	// text says that frames are text (in messages of a websocket).
	text bool

	json        bool
	transformer transformer
	// object encodes the object in an event, event (not for JSON) the event around it.
	objectEncoder, eventEncoder runtime.Encoder
	buffer                      bytes.Buffer
	// shared are the frames that other watches have in the same format.
	shared *recentFrames
}

// newEventEncoder negotiates the format of a watch: YAML has no stream form (H1).
func (s *requestScope) newEventEncoder(req *http.Request, mediaType negotiation.MediaTypeOptions) (*eventEncoder, error) {
	options, err := tableOptions(mediaType, req)
	if err != nil {
		return nil, err
	}
	info, err := negotiation.NegotiateOutputMediaTypeStream(req, s.serializer, s)
	if err != nil {
		return nil, err
	}
	e := &eventEncoder{
		scope:       s,
		ctx:         req.Context(),
		mediaType:   info.MediaType + ";stream=watch",
		framer:      info.StreamSerializer.Framer,
		text:        info.EncodesAsText,
		transformer: s.transformer(mediaType.Convert, options),
	}
	switch info.MediaType {
	case runtime.ContentTypeJSON:
		e.mediaType, e.json = wire.JSON, true
	case runtime.ContentTypeCBOR:
		e.mediaType = runtime.ContentTypeCBORSequence
	}
	e.shared = s.storage.frames.of(e.format())
	gv := s.kind.GroupVersion()
	e.eventEncoder = encoderFor(s.serializer, info.StreamSerializer.Serializer, gv)
	if target := mediaType.Convert; target == nil {
		e.objectEncoder = encoderFor(s.serializer, info.Serializer, gv)
	} else {
		codecs := apihelpers.GetMetaInternalVersionCodecs()
		transformed, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), info.MediaType)
		if !ok {
			return nil, fmt.Errorf("no encoder for %q exists in the requested target %v", info.MediaType, target)
		}
		e.objectEncoder = encoderFor(codecs, transformed.Serializer, target.GroupVersion())
	}
	return e, nil
}

func encoderFor(codecs runtime.NegotiatedSerializer, serializer runtime.Serializer, gv schema.GroupVersion) runtime.Encoder {
	if utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage) {
		return codecs.EncoderForVersion(runtime.UseNondeterministicEncoding(serializer), gv)
	}
	return codecs.EncoderForVersion(serializer, gv)
}

// object appends the frame of an event about a stored object to dst.
func (e *eventEncoder) object(dst []byte, eventType watch.EventType, view *dynamicstorage.View, revision int64) ([]byte, error) {
	if e.json && e.transformer.target == nil {
		return wire.AppendEvent(dst, string(eventType), wireObject(view, revision)), nil
	}
	if options := e.transformer.options; options != nil && !options.NoHeaders {
		return e.transformed(dst, eventType, view, revision) // the first one is for this watch alone
	}
	of := frameOf{eventType: eventType, view: weak.Make(view), revision: revision}
	if frame := e.shared.get(of); frame != nil {
		return append(dst, frame...), nil
	}
	start := len(dst)
	dst, err := e.transformed(dst, eventType, view, revision)
	if err == nil {
		e.shared.put(of, dst[start:])
	}
	return dst, err
}

// format tells apart what watches of a version may get of the same event.
func (e *eventEncoder) format() string {
	target, include := "", ""
	if e.transformer.target != nil {
		target = e.transformer.target.String()
	}
	if e.transformer.options != nil {
		include = string(e.transformer.options.IncludeObject)
	}
	return strings.Join([]string{e.mediaType, target, include}, "|")
}

// transformed appends the frame of an event about a stored object that has to be looked into.
func (e *eventEncoder) transformed(dst []byte, eventType watch.EventType, view *dynamicstorage.View, revision int64) ([]byte, error) {
	if target := e.transformer.target; target != nil && target.Kind == "PartialObjectMetadata" {
		partial, err := e.transformer.metadataOfView(view, revision)
		if err != nil {
			return nil, err
		}
		return e.append(dst, eventType, partial)
	}
	obj, err := e.scope.storage.codec.decode(view, revision)
	if err != nil {
		return nil, err
	}
	return e.encode(dst, eventType, obj)
}

// encode appends the frame of an event about an object in the hub version to dst.
func (e *eventEncoder) encode(dst []byte, eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	transformed, err := e.transformer.transform(e.ctx, obj)
	if err != nil {
		klog.FromContext(e.ctx).Error(err, "Cannot transform an object for a watch")
		transformed = obj
	}
	if options := e.transformer.options; options != nil && !options.NoHeaders {
		// Column definitions go with the first frame only (H7).
		rest := *options
		rest.NoHeaders = true
		e.transformer.options = &rest
	}
	return e.append(dst, eventType, transformed)
}

// append appends the frame of an event about an object that needs no transformation.
func (e *eventEncoder) append(dst []byte, eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	e.buffer.Reset()
	if err := e.encodeObject(obj); err != nil {
		return nil, fmt.Errorf("unable to encode watch object %T: %w", obj, err)
	}
	if e.json {
		return wire.AppendRawEvent(dst, string(eventType), e.buffer.Bytes()), nil
	}
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: bytes.Clone(e.buffer.Bytes())}}
	e.buffer.Reset()
	if err := e.eventEncoder.Encode(event, &e.buffer); err != nil {
		return nil, fmt.Errorf("unable to encode watch event: %w", err)
	}
	return append(dst, e.buffer.Bytes()...), nil
}

func (e *eventEncoder) encodeObject(obj runtime.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok && e.json {
		// As the encoder would, without asking the schema for a conversion.
		return json.NewEncoder(&e.buffer).Encode(u.Object)
	}
	return e.objectEncoder.Encode(obj, &e.buffer)
}

// rest drops the encoder's memory if that is worth it.
func (e *eventEncoder) rest() {
	if e.buffer.Cap() > 1<<10 {
		e.buffer = bytes.Buffer{}
	}
}

// failure appends the frame of an ERROR event to dst.
func (e *eventEncoder) failure(dst []byte, err error) ([]byte, error) {
	return e.append(dst, watch.Error, errorStatus(err))
}

// errorStatus returns the Status in an ERROR event.
func errorStatus(err error) *metav1.Status {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		s := status.Status()
		return &s
	}
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Message: err.Error(),
		Reason:  metav1.StatusReasonInternalError,
		Code:    http.StatusInternalServerError,
	}
}
