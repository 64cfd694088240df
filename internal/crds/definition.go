package crds

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/crd-server/crd-server/internal/wire"
)

// GroupName and Plural are the resource of CRDs.
const (
	GroupName = apiextensions.GroupName
	Plural    = "customresourcedefinitions"
)

// HasBuiltInObjects reports whether the server stores objects of its own where those of a CRD would be. The CRD may be
// created, but never has objects.
func HasBuiltInObjects(group, plural string) bool {
	switch plural + "." + group {
	case "apiservices.apiregistration.k8s.io", Plural + "." + GroupName:
		return true
	}
	return false
}

// storageCodec decodes every version in every encoding that an API server may have written. It recognises CBOR by the
// self-describing prefix, although clients cannot request it (R10).
var storageCodec = serializer.NewCodecFactory(Scheme, serializer.WithSerializer(cbor.NewSerializerInfo)).
	LegacyCodec(v1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion)

// DecodeDefinition decodes a stored CRD to the internal version, with the defaults of the version it was stored in.
// The result belongs to the caller.
func DecodeDefinition(value []byte, revision int64) (*apiextensions.CustomResourceDefinition, error) {
	obj, err := runtime.Decode(storageCodec, value)
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition: %w", err)
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, fmt.Errorf("decoding CustomResourceDefinition: the stored object is a %T", obj)
	}
	crd.ResourceVersion = strconv.FormatInt(revision, 10)
	return crd, nil
}

// ToV1 converts a CRD to v1. The result may share memory with crd.
func ToV1(crd *apiextensions.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd, out,
		nil); err != nil {
		return nil, fmt.Errorf("converting CustomResourceDefinition %s to v1: %w", crd.Name, err)
	}
	Scheme.Default(out)
	return out, nil
}

// FromV1 converts a CRD from v1. The result may share memory with crd.
func FromV1(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	out := &apiextensions.CustomResourceDefinition{}
	if err := Scheme.Convert(crd, out, nil); err != nil {
		return nil, fmt.Errorf("converting CustomResourceDefinition %s from v1: %w", crd.Name, err)
	}
	return out, nil
}

// WithoutSchemas returns a CRD without schemas that shares everything else with crd.
func WithoutSchemas(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	outline := *crd
	outline.Spec.Validation = nil
	outline.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range outline.Spec.Versions {
		outline.Spec.Versions[i].Schema = nil
	}
	return &outline
}

// Scheme has the types of apiextensions.k8s.io (internal, v1 and v1beta1, with conversion and defaulting), and the
// unversioned meta types that any response may contain.
var Scheme = newScheme()

// Codecs are the serializers of apiextensions.k8s.io that clients may request.
var Codecs = wire.NewCodecs(Scheme)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{},
		&metav1.WatchEvent{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme
}
