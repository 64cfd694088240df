package crdhandler

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// requestScope has everything that a verb needs to know about its endpoint: a resource in one
// version, or one of its subresources. It is immutable and shared by all requests.
type requestScope struct {
	config *Config

	resource    schema.GroupVersionResource
	kind        schema.GroupVersionKind // of the objects at this endpoint: autoscaling/v1 Scale for scale
	storageKind schema.GroupKind        // of stored objects, if it is another
	listKind    schema.GroupVersionKind
	subresource string
	namespaced  bool
	// hub is the version of objects in memory: the internal version for CustomResourceDefinitions, else the served
	// version.
	hub schema.GroupVersion

	// serializer decodes request bodies (coercing custom resources by their schema) and encodes
	// objects that are not served from bytes.
	serializer runtime.NegotiatedSerializer
	// standardSerializers are the serializers that can encode the objects themselves. For custom resources protobuf
	// is not one of them; it can only encode PartialObjectMetadata and Status. Nil: all of them.
	standardSerializers []runtime.SerializerInfo
	// patchTypes are the content types PATCH accepts, in the order the 415 names them.
	patchTypes []string
	objects    objectInterfaces

	storage *stored.Objects
	// lists are compressed parts of this version's lists.
	lists *compressedLists
	// strategy has the rules for writes. The strategies of apiextensions-apiserver for CRDs implement it.
	strategy resource.Strategy
	// guard, if set, decides whether the user may write the object. See resource.Definition.
	guard func(ctx context.Context, obj, old runtime.Object) error
	// decide, if set, decides about the valid object. See Admit of resource.Definition.
	decide func(ctx context.Context, obj, old runtime.Object) error
	// plugins are admission plugins for the resource. See resource.Plugin.
	plugins []resource.Plugin
	// allocator, if set, gives objects what they share with others.
	allocator resource.Allocator
	// updated, if set, is called when an update has been stored. See resource.Subresource.
	updated func(obj, old runtime.Object)
	// typed says that objects have a Go type; else they are unstructured.
	typed bool
	// uniqueErrors says that no error of an invalid object is reported twice.
	uniqueErrors bool
	// events says that the objects are events. kube-apiserver does not cache them, and they have no dependents.
	events bool
	// scale is set at the scale endpoint: it makes Scales of the stored objects.
	scale scales.Conversion

	// action is set at the endpoint of an action.
	action *endpointAction
	// connect is set at the endpoint of connections.
	connect *endpointConnect

	// fieldManager returns the field manager, which is built on first use.
	fieldManager func() (managedfields.Manager, error)
	// columns returns the convertor of objects into Tables of printed columns. It is built on first use.
	columns func() (printing.TableConvertor, error)

	// finalize, if set, may change the live object of a DELETE. If it returns true, the changed object is stored and
	// answered instead of the generic deletion (C4).
	finalize func(obj runtime.Object) bool
	// held, if set, reports whether an object that is being deleted stays although it has no finalizers.
	held func(obj runtime.Object) bool
	// gracePeriod, orphans and deleteWarnings are GracePeriod, OrphansDependents and DeleteWarnings of
	// resource.Definition.
	gracePeriod    func(obj runtime.Object, options *metav1.DeleteOptions) int64
	orphans        bool
	deleteWarnings func(options *metav1.DeleteOptions) []string
	// returnsDeleted answers a DELETE with the removed object instead of a Status.
	returnsDeleted bool
	// inEffect, if set, is called after a write, and before the answer. It returns when the write is in effect.
	inEffect func(ctx context.Context, name string) error
	// replaced ends when the crdInfo of the scope is out of date. Watches end then.
	replaced context.Context
}

// objectInterfaces are the functions with which admission and managed fields handle objects of an endpoint.
type objectInterfaces struct {
	creater     runtime.ObjectCreater
	typer       runtime.ObjectTyper
	defaulter   runtime.ObjectDefaulter
	convertor   runtime.ObjectConvertor
	equivalents runtime.EquivalentResourceMapper
}

var _ admission.ObjectInterfaces = objectInterfaces{}

func (o objectInterfaces) GetObjectCreater() runtime.ObjectCreater     { return o.creater }
func (o objectInterfaces) GetObjectTyper() runtime.ObjectTyper         { return o.typer }
func (o objectInterfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return o.defaulter }
func (o objectInterfaces) GetObjectConvertor() runtime.ObjectConvertor { return o.convertor }
func (o objectInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return o.equivalents
}

// err answers the request with err as a Status, in a format that the client accepts.
func (s *requestScope) err(err error, w http.ResponseWriter, req *http.Request) {
	budget.Report(req.Context(), err)
	responsewriters.ErrorNegotiated(err, s.serializer, s.kind.GroupVersion(), w, req)
}

// target returns the namespace and name that the request addresses.
func (s *requestScope) target(req *http.Request) (namespace, name string) {
	info, _ := request.RequestInfoFrom(req.Context())
	if !s.namespaced {
		return "", info.Name // the path of a namespace names it as its own namespace
	}
	return info.Namespace, info.Name
}
