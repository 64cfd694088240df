package crdhandler

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
	"github.com/crd-server/crd-server/internal/wire"
)

// customResourceSerializer is the negotiated serializer of custom resources. It coerces and defaults request bodies
// by the schema (T1). Protobuf is one of its media types because answers may consist of meta types.
type customResourceSerializer struct {
	info       *crdInfo
	convertor  runtime.ObjectConvertor
	mediaTypes []runtime.SerializerInfo
}

var _ runtime.NegotiatedSerializer = &customResourceSerializer{}

// newCustomResourceSerializer returns the serializer of a version, and the media types that can encode its objects:
// all but protobuf (P1).
func newCustomResourceSerializer(info *crdInfo, convertor runtime.ObjectConvertor) (_ *customResourceSerializer, standard []runtime.SerializerInfo) {
	types := plainMediaTypes
	if wire.CBOREnabled() {
		types = cborMediaTypes
	}
	return &customResourceSerializer{info: info, convertor: convertor, mediaTypes: types().all}, types().standard
}

// mediaTypes are shared by all custom resources, and never modified.
type mediaTypes struct{ all, standard []runtime.SerializerInfo }

// CBOR is behind a feature gate.
var (
	plainMediaTypes = sync.OnceValue(func() mediaTypes { return newMediaTypes() })
	cborMediaTypes  = sync.OnceValue(func() mediaTypes {
		return newMediaTypes(cbor.NewSerializerInfo(unstructuredCreater{}, unstructuredTyper{parameters()}))
	})
)

func newMediaTypes(more ...runtime.SerializerInfo) mediaTypes {
	creater, typer := unstructuredCreater{}, unstructuredTyper{parameters()}
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
		Serializer:       protobuf.NewSerializerWithOptions(creater, typer, protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(creater, typer),
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}}, more...)
	isProtobuf := func(info runtime.SerializerInfo) bool { return info.MediaType == runtime.ContentTypeProtobuf }
	return mediaTypes{all: all, standard: slices.DeleteFunc(slices.Clone(all), isProtobuf)}
}

func (s *customResourceSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return s.mediaTypes
}

func (s *customResourceSerializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	return versioning.NewCodec(encoder, nil, s.convertor, crds.Scheme, crds.Scheme, crds.Scheme, gv, nil, "customResources")
}

func (s *customResourceSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	strict, _ := decoder.(strictDecoder)
	coercing := coercingDecoder{delegate: decoder, info: s.info, unknownFields: strict != nil && strict.IsStrict()}
	return versioning.NewCodec(nil, coercing, runtime.UnsafeObjectConvertor(crds.Scheme), crds.Scheme, crds.Scheme, crds.Scheme, nil, gv,
		"customResources")
}

// strictDecoder finds unknown and duplicate fields, and returns them as a strict decoding error beside the object.
type strictDecoder interface {
	runtime.Decoder
	IsStrict() bool
}

// coercingDecoder coerces the objects that its delegate decodes by the schema: metadata, pruning, nulls, embedded
// objects. Then it applies the defaults. The error is stored.ErrTooLarge if these are too large.
type coercingDecoder struct {
	delegate runtime.Decoder
	info     *crdInfo
	// unknownFields reports pruned fields as a strict decoding error (W11).
	unknownFields bool
}

func (d coercingDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
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
		compiled, err := d.info.compiled()
		if err != nil {
			return nil, gvk, err
		}
		unknown, err := compiled.Set.Coerce(u.Object, validation.CoerceOptions{ReturnUnknownFieldPaths: d.unknownFields})
		if err != nil {
			return nil, gvk, err
		}
		if err := (unstructuredDefaulter{info: d.info}).complete(u); err != nil {
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

// parameters returns the scheme of the options of requests. It is shared by all resources, and never modified.
var parameters = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(metav1.SchemeGroupVersion, &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	return scheme
})

// unstructuredCreater makes empty objects of any kind.
type unstructuredCreater struct{}

func (unstructuredCreater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}

// unstructuredTyper returns the kind that an unstructured object names. It asks its delegate for the kind of others
// (options).
type unstructuredTyper struct{ delegate runtime.ObjectTyper }

func (t unstructuredTyper) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); !ok && t.delegate != nil {
		return t.delegate.ObjectKinds(obj)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		return nil, false, runtime.NewMissingKindErr("object has no kind field ")
	}
	if gvk.Version == "" {
		return nil, false, runtime.NewMissingVersionErr("object has no apiVersion field")
	}
	return []schema.GroupVersionKind{gvk}, false, nil
}

func (t unstructuredTyper) Recognizes(gvk schema.GroupVersionKind) bool {
	return t.delegate != nil && t.delegate.Recognizes(gvk)
}

// unstructuredDefaulter applies the defaults of the schema to custom resources of its kind. It passes others to its
// delegate.
type unstructuredDefaulter struct {
	info      *crdInfo
	groupKind schema.GroupKind
	delegate  runtime.ObjectDefaulter
}

func (d unstructuredDefaulter) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind().GroupKind() != d.groupKind {
		d.delegate.Default(obj)
		return
	}
	// The decoding before and the validation after report a schema that does not compile; complete reports defaults
	// that are too large.
	_ = d.complete(u)
}

// complete applies the defaults. The error is stored.ErrTooLarge if they are too large; obj has only some of them then.
func (d unstructuredDefaulter) complete(obj *unstructured.Unstructured) error {
	compiled, err := d.info.compiled()
	if err != nil {
		return err
	}
	if err := compiled.Set.Default(obj.Object, validation.MaxDefaults); errors.Is(err, validation.ErrTooLarge) {
		return stored.ErrTooLarge
	} else if err != nil {
		return err
	}
	return nil
}
