package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Set holds the compiled parts of one CRD, for all its versions, served or not. It is safe for concurrent use.
type Set struct {
	// crd need not have schemas: those are the source's.
	crd    *apiextensionsv1.CustomResourceDefinition
	source source
	// kind is the kind of the objects that the set acts on; everything else that passes through is left alone.
	kind     schema.GroupKind
	versions []*Version
	types    *typeConverter
}

// New returns the set of a CRD. Nothing is compiled before it is needed. The set keeps the CRD, which must not be
// modified any more.
func New(crd *apiextensionsv1.CustomResourceDefinition) *Set {
	return NewFrom(crd, func() (*apiextensions.CustomResourceDefinition, error) {
		whole := &apiextensions.CustomResourceDefinition{}
		return whole, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, whole, nil)
	})
}

// NewFrom returns the set of a CRD that it keeps without its schemas, in which most of the memory of a CRD is. crd needs to have
// everything else. decode returns the whole CRD, which nobody modifies; it is called when a part is compiled, and what it
// returns is not kept beyond that.
func NewFrom(crd *apiextensionsv1.CustomResourceDefinition, decode func() (*apiextensions.CustomResourceDefinition, error)) *Set {
	kind := crd.Status.AcceptedNames.Kind
	if kind == "" {
		kind = crd.Spec.Names.Kind
	}
	s := &Set{
		crd:      crd,
		source:   source{decode: decode},
		kind:     schema.GroupKind{Group: crd.Spec.Group, Kind: kind},
		versions: make([]*Version, len(crd.Spec.Versions)),
	}
	for i := range crd.Spec.Versions {
		s.versions[i] = &Version{set: s, spec: &crd.Spec.Versions[i]}
	}
	s.types = &typeConverter{set: s}
	return s
}

// Version returns a version of the CRD, nil if it has none of that name.
func (s *Set) Version(name string) *Version {
	for _, v := range s.versions {
		if v.spec.Name == name {
			return v
		}
	}
	return nil
}

// TypeConverter returns the converter that managed fields merge with. It is made from the schemas, one version at a time as
// objects of it come; a schema that cannot be converted is reported then.
func (s *Set) TypeConverter() (managedfields.TypeConverter, error) {
	return s.types, nil
}
