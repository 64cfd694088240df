package crdhandler

import (
	"fmt"
	"math"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/scale"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
)

// scaleConversion converts between custom resources and autoscaling/v1 Scales, which are made of the fields that the
// definition names (S3). A write of a Scale stores its replicas only.
type scaleConversion struct {
	info    *crdInfo
	version string
	hub     schema.GroupVersion
}

// scalePaths are the paths of a Scale's fields in a custom resource.
type scalePaths struct {
	specReplicas, statusReplicas string
	selector                     string // empty: none
}

func (c *scaleConversion) paths() (scalePaths, error) {
	version, err := c.info.version(c.version)
	if err != nil {
		return scalePaths{}, err
	}
	scale := version.HasScale()
	if scale == nil {
		return scalePaths{}, fmt.Errorf("version %s has no scale", c.version)
	}
	paths := scalePaths{specReplicas: scale.SpecReplicasPath, statusReplicas: scale.StatusReplicasPath}
	if scale.LabelSelectorPath != nil {
		paths.selector = *scale.LabelSelectorPath
	}
	return paths, nil
}

// read returns the Scale of a custom resource. It fails if the object does not have the field of wanted replicas.
func (c *scaleConversion) read(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, found, err := paths.scale(parent)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", paths.specReplicas))
	}
	return scale, nil
}

// shown returns the Scale of a custom resource for admission, and after a write. It has zero replicas if the object does
// not have the field.
func (c *scaleConversion) shown(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, _, err := paths.scale(parent)
	return scale, err
}

// noReplicas marks replicas that were never set, while a Scale is changed.
const noReplicas = math.MinInt32

// edit returns the Scale of a custom resource, with the managed fields that concern it, and a function that returns a
// copy of the custom resource with a changed Scale in it.
func (c *scaleConversion) edit(parent runtime.Object) (runtime.Object, func(runtime.Object) (runtime.Object, error), error) {
	paths, err := c.paths()
	if err != nil {
		return nil, nil, err
	}
	compiled, err := c.info.compiled()
	if err != nil {
		return nil, nil, err
	}
	before, found, err := paths.scale(parent)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		before.Spec.Replicas = noReplicas
	}
	fields := managedfields.NewScaleHandler(objectmeta.Accessor(parent).GetManagedFields(), c.hub, compiled.Set.ReplicasPathMappings())
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, nil, err
	}
	return before, func(after runtime.Object) (runtime.Object, error) {
		return paths.put(parent, after, fields)
	}, nil
}

// scale returns the Scale of a custom resource. found says whether the object has the field of wanted replicas.
func (s scalePaths) scale(parent runtime.Object) (_ *autoscalingv1.Scale, found bool, err error) {
	cr := parent.(*unstructured.Unstructured)
	wanted, found, err := unstructured.NestedInt64(cr.Object, splitPath(s.specReplicas)...)
	if err != nil {
		return nil, false, err
	}
	actual, _, err := unstructured.NestedInt64(cr.Object, splitPath(s.statusReplicas)...)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if s.selector != "" {
		if selector, _, err = unstructured.NestedString(cr.Object, splitPath(s.selector)...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              cr.GetName(),
			Namespace:         cr.GetNamespace(),
			UID:               cr.GetUID(),
			ResourceVersion:   cr.GetResourceVersion(),
			CreationTimestamp: cr.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(actual), Selector: selector},
	}, found, nil
}

// put returns a copy of a custom resource with the replicas and the managed fields of a Scale.
func (s scalePaths) put(parent, after runtime.Object, fields *managedfields.ScaleHandler) (runtime.Object, error) {
	scale, ok := after.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", after))
	}
	if scale.Spec.Replicas == noReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.specReplicas))
	}
	cr := parent.DeepCopyObject().(*unstructured.Unstructured)
	if err := unstructured.SetNestedField(cr.Object, int64(scale.Spec.Replicas), splitPath(s.specReplicas)...); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" {
		cr.SetResourceVersion(scale.ResourceVersion) // the version that the client has read
	}
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	cr.SetManagedFields(entries)
	return cr, nil
}

// splitPath returns the field names of a simple JSON path.
func splitPath(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}

// scaleSerializer returns the serializer of autoscaling/v1 Scale for all CRDs: JSON, YAML, and protobuf for bodies of
// requests (S3).
var scaleSerializer = sync.OnceValue(func() runtime.NegotiatedSerializer {
	options := []serializer.CodecFactoryOptionsMutator{
		serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(cborFeature) {
		options = append(options, serializer.WithSerializer(cbor.NewSerializerInfo))
	}
	return serializer.NewCodecFactory(scale.NewScaleConverter().Scheme(), options...)
})

// scaleTable returns the convertor for the columns of Scale: Name, Desired, Available, Age (S4).
func scaleTable() (printing.TableConvertor, error) {
	return tableconvertor.New([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
		{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
		{Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
	})
}
