package write

import (
	"context"
	"errors"
	"fmt"
	"path"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Endpoint is a resource in one version, or one of its subresources: its names, its stored objects, and its rules for
// writes. It is immutable and shared by all requests.
type Endpoint struct {
	Policy *Policy

	Resource    schema.GroupVersionResource
	Kind        schema.GroupVersionKind // of the objects at this endpoint: autoscaling/v1 Scale for scale
	StorageKind schema.GroupKind        // of stored objects, if it is another
	Subresource string
	Namespaced  bool
	// Typed says that objects have a Go type; else they are unstructured.
	Typed      bool
	Interfaces Interfaces
	Objects    *stored.Objects

	// Strategy has the rules for writes. The strategies of apiextensions-apiserver for CRDs implement it.
	Strategy resource.Strategy
	// UniqueErrors says that no error of an invalid object is reported twice.
	UniqueErrors bool
	// Scale is set at the scale endpoint: it makes Scales of the stored objects.
	Scale scales.Conversion
	Hooks
}

// Hooks are functions that are called in writes of a resource. All may be missing.
type Hooks struct {
	// Plugins admit the writes of the endpoint.
	Plugins resource.Plugins
	// Allocator gives objects what they share with others.
	Allocator resource.Allocator
	// Updated is called when an update has been stored. See resource.Subresource.
	Updated func(obj, old runtime.Object)
	// BlocksDeletion reports whether an object that is being deleted stays although it has no finalizers.
	BlocksDeletion func(obj runtime.Object) bool
	// InEffect is called after a write, and before the answer. It returns when the write is in effect.
	InEffect func(ctx context.Context, name string) error
}

// Interfaces are the functions with which admission and managed fields handle objects of an endpoint.
type Interfaces struct {
	Creater     runtime.ObjectCreater
	Typer       runtime.ObjectTyper
	Defaulter   runtime.ObjectDefaulter
	Convertor   runtime.ObjectConvertor
	Equivalents runtime.EquivalentResourceMapper
}

var _ admission.ObjectInterfaces = Interfaces{}

// GetObjectCreater implements admission.ObjectInterfaces.
func (i Interfaces) GetObjectCreater() runtime.ObjectCreater { return i.Creater }

// GetObjectTyper implements admission.ObjectInterfaces.
func (i Interfaces) GetObjectTyper() runtime.ObjectTyper { return i.Typer }

// GetObjectDefaulter implements admission.ObjectInterfaces.
func (i Interfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return i.Defaulter }

// GetObjectConvertor implements admission.ObjectInterfaces.
func (i Interfaces) GetObjectConvertor() runtime.ObjectConvertor { return i.Convertor }

// GetEquivalentResourceMapper implements admission.ObjectInterfaces.
func (i Interfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return i.Equivalents
}

// NamespaceResource is the resource of namespaces.
var NamespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Key returns the key of the object that a request names. The error is the API error for a bad name.
func (e *Endpoint) Key(namespace, name string) (string, error) {
	return stored.Key(e.Namespaced, namespace, name)
}

// APIError is Objects.APIError, except for ErrTooLarge, which the verbs look for.
func (e *Endpoint) APIError(err error, name string) error {
	switch {
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return err
	case errors.Is(err, dynamicstorage.ErrCondition) && e.Allocator != nil:
		const text = "what was allocated was taken back; please try again"
		return apierrors.NewConflict(e.Resource.GroupResource(), name, errors.New(text))
	}
	return e.Objects.APIError(err, name)
}

// NotFound returns the answer to a write of an object that does not exist.
func (e *Endpoint) NotFound(name string) error {
	return apierrors.NewNotFound(e.Resource.GroupResource(), name)
}

// WaitInEffect waits until the write of an object is in effect. The write is done: a failure here cannot undo it.
func (e *Endpoint) WaitInEffect(ctx context.Context, name string) {
	if e.InEffect == nil {
		return
	}
	if err := e.InEffect(ctx, name); err != nil && !errors.Is(ctx.Err(), context.Canceled) { // a client may leave
		klog.FromContext(ctx).Error(err, "Written object is not in effect yet", "resource", e.Resource, "name", name)
	}
}

// PreconditionFailed is upstream's answer to a write that was meant for another object. In a dry run upstream names the
// key without the prefix.
func (a *Admission) PreconditionFailed(text string) error {
	key := path.Join("/", a.Objects.Resource.Folder(), a.ScopedNamespace(a.Namespace), a.Name)
	if !a.DryRun {
		key = "/registry" + key
	}
	return apierrors.NewConflict(a.Resource.GroupResource(), a.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", key, text))
}

// allocate lets the allocator of the resource complete an object. Writes of subresources allocate nothing.
func (e *Endpoint) allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (resource.Allocated, error) {
	if e.Allocator == nil || e.Subresource != "" {
		return resource.Allocated{}, nil
	}
	a, err := e.Allocator.Allocate(ctx, obj, old, dryRun)
	return resource.Allocated{Allocation: a}, e.Objects.APIError(err, objectmeta.Accessor(obj).GetName())
}

// release gives back what an object had allocated, if it was removed. obj may be nil.
func (e *Endpoint) release(ctx context.Context, obj runtime.Object) {
	if e.Allocator != nil && obj != nil {
		e.Allocator.Release(context.WithoutCancel(ctx), obj)
	}
}
