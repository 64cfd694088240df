package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Set holds the compiled schemas of all versions of one CRD, served or not. It is safe for concurrent use.
type Set struct {
	// crd has no schemas. load returns it with them.
	crd  *apiextensionsv1.CustomResourceDefinition
	load func() (*apiextensions.CustomResourceDefinition, error)
	// kind is the kind of the custom resources. The set leaves objects of other kinds alone.
	kind     schema.GroupKind
	versions []*Version
	types    *typeConverter
}

// New returns the set of a CRD that is held in memory without its schemas, which are the largest part of it. crd
// needs everything but the schemas. The set calls load whenever it compiles a part. It does not keep the result, but
// may modify it.
func New(
	crd *apiextensionsv1.CustomResourceDefinition, load func() (*apiextensions.CustomResourceDefinition, error),
) *Set {
	kind := crd.Status.AcceptedNames.Kind
	if kind == "" {
		kind = crd.Spec.Names.Kind
	}
	s := &Set{
		crd:      crd,
		load:     load,
		kind:     schema.GroupKind{Group: crd.Spec.Group, Kind: kind},
		versions: make([]*Version, len(crd.Spec.Versions)),
	}
	for i := range crd.Spec.Versions {
		s.versions[i] = &Version{set: s, spec: &crd.Spec.Versions[i]}
	}
	s.types = &typeConverter{set: s}
	return s
}

// Version returns the version of that name, nil if the CRD has none.
func (s *Set) Version(name string) *Version {
	for _, v := range s.versions {
		if v.spec.Name == name {
			return v
		}
	}
	return nil
}

// TypeConverter returns the type converter of managed fields. It converts the schema of a version when it meets the
// first object of that version, and reports then if it cannot.
func (s *Set) TypeConverter() managedfields.TypeConverter { return s.types }
