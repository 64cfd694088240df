package crds

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Record is what the server keeps of a CRD while nobody looks at its schemas. It is immutable and shared.
type Record struct {
	// ObjectMeta holds name, UID, generation, timestamps, finalizers and resourceVersion; nothing else of the
	// stored metadata is kept.
	metav1.ObjectMeta
	// Revision is the resourceVersion as a number.
	Revision int64

	Group                string
	Names, AcceptedNames apiextensionsv1.CustomResourceDefinitionNames
	Namespaced           bool
	// PreserveUnknownFields is the one of the whole CRD, which v1 no longer lets anyone set.
	PreserveUnknownFields bool
	Versions              []Version
	StoredVersions        []string

	// Conditions that are True.
	NamesAccepted, Established, NonStructural bool
	// Terminating says that no new objects are to be created: the CRD is being deleted, or its condition
	// Terminating is True.
	Terminating bool

	// SpecHash changes when spec or status.acceptedNames change semantically, and only then.
	SpecHash string

	// entry is nil in records of deletions.
	entry *dynamicstorage.Entry
	// digest is a hash of everything discovery shows of the CRD.
	digest digest
	// listed is set in records from a list, which come in no order of revisions, and in the one that ends it.
	listed bool
}

// Version is one version of a CRD, without its schema.
type Version struct {
	Name                        string
	Served, Storage, Deprecated bool
	// DeprecationWarning is empty where the text is to be generated.
	DeprecationWarning string
	// Status and Scale say which subresources the version declares.
	Status, Scale bool
}

var (
	_ runtime.Object = &Record{}
	_ metav1.Object  = &Record{}
)

// GetObjectKind makes a Record an object an informer can hold. It has no kind of its own on any wire.
func (r *Record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a shallow copy: what a record points to is immutable.
func (r *Record) DeepCopyObject() runtime.Object {
	c := *r
	return &c
}

// Internal decodes the CRD, with defaults, to the internal version. The result belongs to the caller and is not kept.
func (r *Record) Internal() (*apiextensions.CustomResourceDefinition, error) {
	if r.entry == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: the record holds no stored object", r.Name)
	}
	return DecodeDefinition(r.entry.Value, r.Revision)
}

// Outline decodes the CRD without its schemas, in a sixth of the time. The result may be shared and must not be modified.
func (r *Record) Outline() (*apiextensionsv1.CustomResourceDefinition, error) {
	if r.entry == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: the record holds no stored object", r.Name)
	}
	stored, err := Open(r.entry)
	if err != nil {
		return nil, err
	}
	crd := *stored.Outline
	crd.ResourceVersion = r.ResourceVersion
	return &crd, nil
}

// CreateRevision is the revision of etcd that the CRD was created at: another one when it was deleted and created anew.
func (r *Record) CreateRevision() int64 {
	if r.entry == nil {
		return 0
	}
	return r.entry.CreateRevision()
}

// Version returns the version of that name, served or not; nil if there is none.
func (r *Record) Version(name string) *Version {
	for n := range r.Versions {
		if r.Versions[n].Name == name {
			return &r.Versions[n]
		}
	}
	return nil
}

// StorageVersion is the name of the version new objects are stored in.
func (r *Record) StorageVersion() string {
	for n := range r.Versions {
		if r.Versions[n].Storage {
			return r.Versions[n].Name
		}
	}
	return ""
}

// HasFinalizer says whether the finalizer is still on the CRD.
func (r *Record) HasFinalizer(name string) bool {
	for _, finalizer := range r.Finalizers {
		if finalizer == name {
			return true
		}
	}
	return false
}
