package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/util/apihelpers"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// encoder encodes the events of one watch as frames, in the format that its client has negotiated.
type encoder struct {
	// ctx is the context of the request.
	ctx context.Context
	// mediaType is the Content-Type of the response; framer separates its frames.
	mediaType string
	framer    runtime.Framer
	// text says that frames are text messages of a websocket.
	text bool

	printer printing.Printer
	decode  func(view *dynamicstorage.View, revision int64) (runtime.Object, error)
	// json says that the format is JSON. Otherwise events encodes the event around an object.
	json bool
	// protobuf is set if the views are protobuf: the kind of the objects.
	protobuf *runtime.TypeMeta
	// objects encodes the object in an event.
	objects, events runtime.Encoder
	buffer          bytes.Buffer
}

// newEncoder negotiates the format of a watch: YAML has no stream form (H1).
func newEncoder(req *http.Request, c *Config) (*encoder, error) {
	printer, err := c.Endpoint.NewPrinter(c.MediaType, req)
	if err != nil {
		return nil, err
	}
	serializer := c.Endpoint.Serializer
	info, err := negotiation.NegotiateOutputMediaTypeStream(req, serializer, c.Endpoint)
	if err != nil {
		return nil, err
	}
	e := &encoder{
		ctx:       req.Context(),
		mediaType: info.MediaType + ";stream=watch",
		framer:    info.StreamSerializer.Framer,
		text:      info.EncodesAsText,
		printer:   printer,
		decode:    c.Decode,
		protobuf:  c.Protobuf,
	}
	switch info.MediaType {
	case runtime.ContentTypeJSON:
		e.mediaType, e.json = wire.JSON, true
	case runtime.ContentTypeCBOR:
		e.mediaType = runtime.ContentTypeCBORSequence
	}
	gv := c.Endpoint.Kind.GroupVersion()
	e.events = encoderFor(serializer, info.StreamSerializer.Serializer, gv)
	target := printer.Target()
	if target == nil {
		e.objects = encoderFor(serializer, info.Serializer, gv)
		return e, nil
	}
	codecs := apihelpers.GetMetaInternalVersionCodecs()
	transformed, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), info.MediaType)
	if !ok {
		return nil, fmt.Errorf("no encoder for %q exists in the requested target %v", info.MediaType, target)
	}
	e.objects = encoderFor(codecs, transformed.Serializer, target.GroupVersion())
	return e, nil
}

func encoderFor(
	codecs runtime.NegotiatedSerializer, serializer runtime.Serializer, gv schema.GroupVersion,
) runtime.Encoder {
	if wire.CBOREnabled() {
		return codecs.EncoderForVersion(runtime.UseNondeterministicEncoding(serializer), gv)
	}
	return codecs.EncoderForVersion(serializer, gv)
}

// object appends the frame of an event about a stored object to dst. JSON of the object itself, and protobuf of a
// built-in one, is copied from its view.
func (e *encoder) object(
	dst []byte, eventType watch.EventType, view *dynamicstorage.View, revision int64,
) ([]byte, error) {
	target := e.printer.Target()
	if target == nil && (e.json || e.protobuf != nil) {
		object := stored.Object(view, revision)
		object.Protobuf = e.protobuf
		return wire.AppendEvent(dst, string(eventType), object), nil
	}
	err := budget.While(e.ctx, len(view.Bytes), func() (err error) {
		dst, err = e.transformed(dst, eventType, view, revision)
		return err
	})
	return dst, err
}

// transformed appends the frame of an event about a stored object that is not sent as its bytes.
func (e *encoder) transformed(
	dst []byte, eventType watch.EventType, view *dynamicstorage.View, revision int64,
) ([]byte, error) {
	if target := e.printer.Target(); target != nil && target.Kind == "PartialObjectMetadata" {
		partial, err := e.printer.Metadata(view, revision)
		if err != nil {
			return nil, err
		}
		return e.append(dst, eventType, partial)
	}
	obj, err := e.decode(view, revision)
	if err != nil {
		return nil, err
	}
	return e.encode(dst, eventType, obj)
}

// encode appends the frame of an event about a decoded object to dst.
func (e *encoder) encode(dst []byte, eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	transformed, err := e.printer.Object(e.ctx, obj)
	if err != nil {
		klog.FromContext(e.ctx).V(4).Info("An object cannot be sent in the format of the watch", "err", err)
		transformed = obj
	}
	e.printer = e.printer.WithoutHeaders()
	return e.append(dst, eventType, transformed)
}

// append appends the frame of an event about an object that needs no transformation.
func (e *encoder) append(dst []byte, eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	e.buffer.Reset()
	if err := e.encodeObject(obj); err != nil {
		return nil, fmt.Errorf("unable to encode watch object %T: %w", obj, err)
	}
	if e.json {
		return wire.AppendRawEvent(dst, string(eventType), e.buffer.Bytes()), nil
	}
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: bytes.Clone(e.buffer.Bytes())}}
	e.buffer.Reset()
	if err := e.events.Encode(event, &e.buffer); err != nil {
		return nil, fmt.Errorf("unable to encode watch event: %w", err)
	}
	return append(dst, e.buffer.Bytes()...), nil
}

func (e *encoder) encodeObject(obj runtime.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok && e.json {
		// As the encoder does it, without the conversion that would compile the schema.
		return json.NewEncoder(&e.buffer).Encode(u.Object)
	}
	return e.objects.Encode(obj, &e.buffer)
}

// release drops the encoder's buffer if it is large.
func (e *encoder) release() {
	if e.buffer.Cap() > 1<<10 {
		e.buffer = bytes.Buffer{}
	}
}

// failure appends the frame of an ERROR event to dst.
func (e *encoder) failure(dst []byte, err error) ([]byte, error) {
	return e.append(dst, watch.Error, errorStatus(err))
}

// errorStatus returns the Status of an ERROR event.
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
