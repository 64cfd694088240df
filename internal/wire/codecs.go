package wire

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// Codecs are the serializers of requests and responses for the types of a scheme: JSON, YAML and protobuf, and CBOR if
// its feature gate is on. The decoders of stored values never have CBOR.
type Codecs struct {
	serializer.CodecFactory
	withCBOR []runtime.SerializerInfo
}

var _ runtime.NegotiatedSerializer = Codecs{}

// NewCodecs returns the codecs of a scheme.
func NewCodecs(scheme *runtime.Scheme) Codecs {
	withCBOR := serializer.NewCodecFactory(scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
	return Codecs{CodecFactory: serializer.NewCodecFactory(scheme), withCBOR: withCBOR.SupportedMediaTypes()}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c Codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	if CBOREnabled() {
		return c.withCBOR
	}
	return c.CodecFactory.SupportedMediaTypes()
}

// CBOREnabled reports whether clients may send and request CBOR.
func CBOREnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.CBORServingAndStorage)
}
