package customresources

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
	"github.com/crd-server/crd-server/internal/wire"
)

// Serializer is the negotiated serializer of custom resources. It coerces and defaults request bodies by the schema
// (T1). Protobuf is one of its media types because answers may consist of meta types.
type Serializer struct {
	schemas    *schemas.Cached
	convertor  runtime.ObjectConvertor
	mediaTypes []runtime.SerializerInfo
}

var _ runtime.NegotiatedSerializer = &Serializer{}

// NewSerializer returns the serializer of a version, and the media types that can encode its objects: all but protobuf
// (P1).
func NewSerializer(
	cached *schemas.Cached, convertor runtime.ObjectConvertor,
) (_ *Serializer, standard []runtime.SerializerInfo) {
	types := plainMediaTypes
	if wire.CBOREnabled() {
		types = cborMediaTypes
	}
	return &Serializer{schemas: cached, convertor: convertor, mediaTypes: types().all}, types().standard
}

// mediaTypes are shared by all custom resources, and never modified.
type mediaTypes struct{ all, standard []runtime.SerializerInfo }

// CBOR is behind a feature gate.
var (
	plainMediaTypes = sync.OnceValue(func() mediaTypes { return newMediaTypes() })
	cborMediaTypes  = sync.OnceValue(func() mediaTypes {
		return newMediaTypes(cbor.NewSerializerInfo(Creater, Typer{parameters()}))
	})
)

func newMediaTypes(more ...runtime.SerializerInfo) mediaTypes {
	creater, typer := Creater, Typer{parameters()}
	jsonSerializer := func(options json.SerializerOptions) *json.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater, typer, options)
	}
	all := append([]runtime.SerializerInfo{{
		MediaType:        runtime.ContentTypeJSON,
		MediaTypeType:    "application",
		MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       jsonSerializer(json.SerializerOptions{StreamingCollectionsEncoding: true}),
		PrettySerializer: jsonSerializer(json.SerializerOptions{Pretty: true}),
		StrictSerializer: jsonSerializer(json.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    jsonSerializer(json.SerializerOptions{}),
			Framer:        json.Framer,
		},
	}, {
		MediaType:        runtime.ContentTypeYAML,
		MediaTypeType:    "application",
		MediaTypeSubType: "yaml",
		EncodesAsText:    true,
		Serializer:       jsonSerializer(json.SerializerOptions{Yaml: true}),
		StrictSerializer: jsonSerializer(json.SerializerOptions{Yaml: true, Strict: true}),
	}, {
		MediaType:        runtime.ContentTypeProtobuf,
		MediaTypeType:    "application",
		MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer: protobuf.NewSerializerWithOptions(creater, typer,
			protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(creater, typer),
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}}, more...)
	isProtobuf := func(info runtime.SerializerInfo) bool { return info.MediaType == runtime.ContentTypeProtobuf }
	return mediaTypes{all: all, standard: slices.DeleteFunc(slices.Clone(all), isProtobuf)}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s *Serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return s.mediaTypes
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s *Serializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	scheme := crds.Scheme
	return versioning.NewCodec(encoder, nil, s.convertor, scheme, scheme, scheme, gv, nil, "customResources")
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s *Serializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	strict, _ := decoder.(StrictDecoder)
	unknownFields := strict != nil && strict.IsStrict()
	coercing := coercingDecoder{delegate: decoder, schemas: s.schemas, unknownFields: unknownFields}
	scheme := crds.Scheme
	convertor := runtime.UnsafeObjectConvertor(scheme)
	return versioning.NewCodec(nil, coercing, convertor, scheme, scheme, scheme, nil, gv, "customResources")
}

// StrictDecoder finds unknown and duplicate fields, and returns them as a strict decoding error beside the object.
type StrictDecoder interface {
	runtime.Decoder
	IsStrict() bool
}

// coercingDecoder coerces the objects that its delegate decodes by the schema: metadata, pruning, nulls, embedded
// objects. Then it applies the defaults. The error is stored.ErrTooLarge if these are too large.
type coercingDecoder struct {
	delegate runtime.Decoder
	schemas  *schemas.Cached
	// unknownFields reports pruned fields as a strict decoding error (W11).
	unknownFields bool
}

func (d coercingDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.delegate.Decode(data, defaults, into)
	var strictErrs []error
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, gvk, err
		}
		strictErrs = strict.Errors()
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if err := objectmeta.CheckUnstructuredEntries(u.Object); err != nil {
			return nil, gvk, err
		}
		compiled, err := d.schemas.Get()
		if err != nil {
			return nil, gvk, err
		}
		options := validation.CoerceOptions{ReturnUnknownFieldPaths: d.unknownFields}
		unknown, err := compiled.Set.Coerce(u.Object, options)
		if err != nil {
			return nil, gvk, err
		}
		if err := (Defaulter{schemas: d.schemas}).Complete(u); err != nil {
			return nil, gvk, err
		}
		for _, path := range unknown {
			strictErrs = append(strictErrs, fmt.Errorf(`unknown field "%s"`, path))
		}
	}
	if d.unknownFields && len(strictErrs) > 0 {
		return obj, gvk, runtime.NewStrictDecodingError(strictErrs)
	}
	return obj, gvk, nil
}
