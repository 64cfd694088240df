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
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// customResourceSerializer is the negotiated serializer of custom resources: request bodies are coerced and defaulted
// by the schema (T1). Protobuf is among the media types for the meta types that answers may consist of.
type customResourceSerializer struct {
	info       *crdInfo
	convertor  runtime.ObjectConvertor
	mediaTypes []runtime.SerializerInfo
}

var _ runtime.NegotiatedSerializer = &customResourceSerializer{}

// newCustomResourceSerializer returns the serializer of a version, and the media types that its objects themselves have: all but
// protobuf (P1).
func newCustomResourceSerializer(info *crdInfo, convertor runtime.ObjectConvertor) (_ *customResourceSerializer, standard []runtime.SerializerInfo) {
	types := plainMediaTypes
	if utilfeature.DefaultFeatureGate.Enabled(cborFeature) {
		types = cborMediaTypes
	}
	return &customResourceSerializer{info: info, convertor: convertor, mediaTypes: types().all}, types().standard
}

// mediaTypes are shared by all custom resources. Nobody modifies them.
type mediaTypes struct{ all, standard []runtime.SerializerInfo }

// Media types without CBOR and with it, which is behind a feature gate.
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

// coercingDecoder coerces what its delegate decodes by the schema: metadata, pruning, nulls, embedded objects. Then it fills in the defaults,
// which fails when they are too large (errTooLarge).
type coercingDecoder struct {
	delegate runtime.Decoder
	info     *crdInfo
	// unknownFields reports what was pruned as a strict decoding error (W11).
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
		compiled, err := d.info.compiled()
		if err != nil {
			return nil, gvk, err
		}
		unknown, err := compiled.schemas.Coerce(u.Object, validation.CoerceOptions{ReturnUnknownFieldPaths: d.unknownFields})
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

// parameters knows the options of requests, of which nothing depends on the resource. It is shared, and nobody modifies it.
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

// unstructuredTyper reads the kind of unstructured objects from themselves, that of others (options) from
// its delegate.
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

// unstructuredDefaulter applies the schema's defaults to custom resources of its kind, and those of its delegate to others.
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
	// A schema that does not compile is reported by the decoding before and the validation after, defaults that are too large by complete.
	_ = d.complete(u)
}

// complete fills in the defaults. It returns errTooLarge if they are too large, and obj has not got all of them.
func (d unstructuredDefaulter) complete(obj *unstructured.Unstructured) error {
	compiled, err := d.info.compiled()
	if err != nil {
		return err
	}
	if err := compiled.schemas.Default(obj.Object, validation.MaxDefaults); errors.Is(err, validation.ErrTooLarge) {
		return errTooLarge
	} else if err != nil {
		return err
	}
	return nil
}
