package scales

import (
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/client-go/scale"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/wire"
)

// Conversion converts between the objects of a resource and autoscaling/v1 Scales. A write of a Scale stores its
// replicas only.
type Conversion interface {
	// Of returns the Scale of an object. It fails if the object does not have the field of wanted replicas.
	Of(parent runtime.Object) (runtime.Object, error)
	// Shown returns the Scale of an object for admission, and after a write. It has zero replicas if the object does
	// not have the field.
	Shown(parent runtime.Object) (runtime.Object, error)
	// Edit returns the Scale of an object, with the managed fields that concern it, and a function that returns a copy
	// of the object with a changed Scale in it.
	Edit(parent runtime.Object) (runtime.Object, func(runtime.Object) (runtime.Object, error), error)
}

// Serializer returns the serializer of autoscaling/v1 Scale for all CRDs: JSON, YAML, and protobuf for bodies of
// requests (S3).
var Serializer = sync.OnceValue(func() runtime.NegotiatedSerializer {
	options := []serializer.CodecFactoryOptionsMutator{
		serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf(),
	}
	if wire.CBOREnabled() {
		options = append(options, serializer.WithSerializer(cbor.NewSerializerInfo))
	}
	return serializer.NewCodecFactory(scale.NewScaleConverter().Scheme(), options...)
})

// Table returns the convertor for the columns of Scale: Name, Desired, Available, Age (S4).
func Table() (printing.TableConvertor, error) {
	return tableconvertor.New([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
		{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
		{
			Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
			JSONPath: ".metadata.creationTimestamp",
		},
	})
}

// newScale returns the Scale of an object.
func newScale(m metav1.Object, spec autoscalingv1.ScaleSpec, status autoscalingv1.ScaleStatus) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(),
			ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
		},
		Spec: spec, Status: status,
	}
}
