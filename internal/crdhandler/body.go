package crdhandler

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/wire"
)

// readBody reserves memory for the body of a write, reads it, and reserves the memory to work on it. The error is a 413
// when the body is larger than the limit (W12).
func (s *requestScope) readBody(req *http.Request) ([]byte, error) {
	limit := s.config.MaxRequestBodyBytes
	announced := req.ContentLength
	if announced < 0 || announced > limit {
		announced = limit // the most that is read
	}
	if err := budget.ReserveBody(req.Context(), announced); err != nil {
		return nil, err
	}
	body, err := wire.ReadBody(req, limit)
	if err != nil {
		return nil, err
	}
	size := max(len(body), s.storedSize(req))
	if mayExpand(req, body) {
		size = max(size, int(limit))
	}
	return body, budget.Reserve(req.Context(), size)
}

// storedSize returns the size of the stored object that a write changes; 0 if it is not in the cache.
func (s *requestScope) storedSize(req *http.Request) int {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || info.Name == "" {
		return 0
	}
	key, err := stored.Key(s.Namespaced, info.Namespace, info.Name)
	if err != nil {
		return 0 // the verb refuses the request
	}
	return s.Objects.Resource.CachedSize(key)
}

// mayExpand reports whether a body may become as large as the largest one when it is decoded: YAML with aliases.
func mayExpand(req *http.Request, body []byte) bool {
	return strings.Contains(req.Header.Get("Content-Type"), "yaml") &&
		bytes.IndexByte(body, '&') >= 0 && bytes.IndexByte(body, '*') >= 0
}

// queryOptions reads the options of a request from its query.
func queryOptions(req *http.Request, options runtime.Object) error {
	query, version := req.URL.Query(), metav1.SchemeGroupVersion
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(query, version, options); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// finishOptions returns the errors of options as an API error, and sets their kind, which admission reads.
func finishOptions(options runtime.Object, kind string, errs field.ErrorList) error {
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	options.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kind))
	return nil
}

// negotiateBody returns the serializer for the body of a create or update. It refuses protobuf for custom resources,
// which have it as a media type for the meta types only. See docs/upstream.md, "Protobuf bodies of custom resources".
func negotiateBody(req *http.Request, serializer runtime.NegotiatedSerializer) (runtime.SerializerInfo, error) {
	info, err := negotiation.NegotiateInputSerializer(req, false, serializer)
	if err == nil && info.StrictSerializer == nil {
		accepted, _ := negotiation.MediaTypesForSerializer(serializer)
		err = negotiation.NewUnsupportedMediaTypeError(accepted)
	}
	return info, err
}

// readOptions reads the options of a request from its query, and validates them.
func readOptions[O runtime.Object](req *http.Request, options O, kind string, validate func(O) field.ErrorList) error {
	if err := queryOptions(req, options); err != nil {
		return err
	}
	return finishOptions(options, kind, validate(options))
}

// payload is the body of a create or update, and the way to decode it.
type payload struct {
	scope      *requestScope
	data       []byte
	serializer runtime.SerializerInfo
	validation fieldValidation
}

// decode returns the object in the body, in the hub version.
func (p payload) decode(ctx context.Context) (runtime.Object, error) {
	s := p.scope
	into, err := s.newObject()
	if err != nil {
		return nil, err
	}
	if err := checkBody(p.data, p.serializer.MediaType); err != nil {
		return nil, err
	}
	kind := s.Kind
	decoder := s.serializer.DecoderToVersion(p.validation.serializer(p.serializer), s.hub)
	obj, gvk, err := decoder.Decode(p.data, &kind, into)
	if err != nil {
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict || obj == nil || p.validation != metav1.FieldValidationWarn {
			return nil, decodeError(s.Kind.Kind, err, gvk, p.data)
		}
		warnStrict(ctx, strict.Errors())
	}
	if err := checkObject(obj, p.serializer.MediaType); err != nil {
		return nil, err
	}
	if gv := gvk.GroupVersion(); gv != s.Kind.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)", gv, s.Kind.GroupVersion()))
	}
	audit.LogRequestObject(ctx, obj, gvk.GroupVersion(), s.Resource, s.Subresource, s.serializer)
	return obj, nil
}

// newObject returns an empty object of the endpoint in the hub version.
func (s *requestScope) newObject() (runtime.Object, error) {
	if s.Scale != nil {
		return &autoscalingv1.Scale{}, nil
	}
	return s.Interfaces.Creater.New(s.hub.WithKind(s.Kind.Kind))
}

// decodeError is the answer to a body that is not an object of the expected kind.
func decodeError(expected string, err error, gvk *schema.GroupVersionKind, body []byte) error {
	if isAnswer(err) {
		return err
	}
	if gvk != nil && gvk.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, expected, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the object provided is unrecognized (must be of type %s): %v (%s)", expected, err, summary(body)))
}

// summary returns the beginning of a body for an error message, as text if it looks like JSON.
func summary(body []byte) string {
	const most = 30
	if len(body) == 0 {
		return "<empty>"
	}
	rest := ""
	text := body[0] == '{'
	if len(body) > most {
		body, rest = body[:most], " ..."
	}
	if text {
		return string(body) + rest
	}
	return hex.EncodeToString(body) + rest
}
