package crds

import (
	"iter"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Record is the summary of a CRD without its schemas. It is immutable and shared.
type Record struct {
	// ObjectMeta holds name, UID, generation, timestamps, finalizers and resourceVersion; nothing else of the
	// stored metadata is kept.
	metav1.ObjectMeta
	// Revision is the resourceVersion as a number.
	Revision int64

	Group                string
	Names, AcceptedNames apiextensionsv1.CustomResourceDefinitionNames
	Namespaced           bool
	// PreserveUnknownFields is spec.preserveUnknownFields, which v1 does not allow to be true.
	PreserveUnknownFields bool
	Versions              []Version
	StoredVersions        []string

	// Conditions that are True.
	NamesAccepted, Established, NonStructural bool
	// Terminating means that no objects may be created: the CRD is being deleted, or its condition Terminating is True.
	Terminating bool

	// SpecHash changes if and only if spec or status.acceptedNames change semantically.
	SpecHash string

	entry *dynamicstorage.Entry
}

// Version is one version of a CRD, without its schema.
type Version struct {
	Name                        string
	Served, Storage, Deprecated bool
	// DeprecationWarning is empty if the server generates the text.
	DeprecationWarning string
	// Status and Scale say which subresources the version declares.
	Status, Scale bool
}

// Internal decodes the CRD, with defaults, to the internal version. The result belongs to the caller and is not kept.
func (r *Record) Internal() (*apiextensions.CustomResourceDefinition, error) {
	return DecodeDefinition(r.entry.Value, r.Revision)
}

// Outline decodes the CRD without its schemas, in a sixth of the time. The result may be shared: the caller must not
// modify it.
func (r *Record) Outline() (*apiextensionsv1.CustomResourceDefinition, error) {
	stored, err := Open(r.entry)
	if err != nil {
		return nil, err
	}
	crd := *stored.Outline
	crd.ResourceVersion = r.ResourceVersion
	return &crd, nil
}

// CreateRevision returns the etcd revision at which the CRD was created. It differs for a CRD that was deleted and
// created again.
func (r *Record) CreateRevision() int64 { return r.entry.CreateRevision() }

// Version returns the version of that name, served or not; nil if there is none.
func (r *Record) Version(name string) *Version {
	for n := range r.Versions {
		if r.Versions[n].Name == name {
			return &r.Versions[n]
		}
	}
	return nil
}

// StorageVersion returns the name of the storage version.
func (r *Record) StorageVersion() string {
	for n := range r.Versions {
		if r.Versions[n].Storage {
			return r.Versions[n].Name
		}
	}
	return ""
}

// HasFinalizer reports whether the CRD has the finalizer.
func (r *Record) HasFinalizer(name string) bool {
	return slices.Contains(r.Finalizers, name)
}

// ServedVersions yields the groups and versions that discovery shows because of a CRD, which may be nil.
func (r *Record) ServedVersions() iter.Seq[schema.GroupVersion] {
	return func(yield func(schema.GroupVersion) bool) {
		if r == nil || !r.Established || r.Group == GroupName {
			return
		}
		for n := range r.Versions {
			v := &r.Versions[n]
			if v.Served && !yield(schema.GroupVersion{Group: r.Group, Version: v.Name}) {
				return
			}
		}
	}
}

// SameNames reports whether two CRDs request, or have been granted, the same names.
func SameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// WaitsForNames reports whether the CRD requests names that it has not been granted.
func (r *Record) WaitsForNames() bool { return !SameNames(&r.Names, &r.AcceptedNames) }

// ListError means that the custom resources of a deleted CRD could not be listed. The condition Terminating
// distinguishes it from a failure to delete them.
type ListError struct{ Err error }

func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ListError) Unwrap() error { return e.Err }
