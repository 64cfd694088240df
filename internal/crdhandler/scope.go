package crdhandler

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/managedfields"
)

// requestScope is all that a verb needs to know of the endpoint it serves: a resource in one
// version, or one of its subresources. It is immutable and shared by all requests.
type requestScope struct {
	config *Config

	resource    schema.GroupVersionResource
	kind        schema.GroupVersionKind // of the objects at this endpoint: autoscaling/v1 Scale for scale
	listKind    schema.GroupVersionKind
	subresource string
	namespaced  bool
	// hub is the version objects have in memory: the served version for custom resources, the
	// internal version for CustomResourceDefinitions.
	hub schema.GroupVersion

	// serializer decodes request bodies (coercing custom resources by their schema) and encodes
	// objects that are not served from bytes.
	serializer runtime.NegotiatedSerializer
	// standardSerializers are those that may encode the objects themselves: protobuf is left out for
	// custom resources, though it carries PartialObjectMetadata and Status. Nil: all of them.
	standardSerializers []runtime.SerializerInfo
	// patchTypes are the content types PATCH accepts, in the order the 415 names them.
	patchTypes []string
	objects    objectInterfaces

	storage  *storage
	strategy strategy
	// part is set where the objects of the endpoint are a part of the stored ones (scale).
	part part

	// fieldManager is built on first use: a read needs none.
	fieldManager func() (managedfields.Manager, error)
	// table converts objects for printing; built on first use.
	table func() (tableConvertor, error)

	// finalize, if set, is offered the live object of a DELETE: when it changes the object and returns true,
	// that is stored and answered instead of the generic deletion (C4).
	finalize func(obj runtime.Object) bool
	// inEffect, if set, is called after a write, and before the answer. It returns when the write is in effect.
	inEffect func(ctx context.Context, name string) error
	// replaced is closed when the serving state the scope belongs to is out of date; watches end then.
	replaced <-chan struct{}
}

// strategy holds the rules for writes at an endpoint. apiextensions-apiserver's strategies for
// CustomResourceDefinitions satisfy it as they are.
type strategy interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	WarningsOnCreate(ctx context.Context, obj runtime.Object) []string
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	Canonicalize(obj runtime.Object)
}

// part reads and writes an object that is a part of a stored one.
type part interface {
	// read returns the part as GET answers it.
	read(parent runtime.Object) (runtime.Object, error)
	// edit prepares the part of parent for a change; parent is not modified. What apply returns is a
	// copy of parent with the changed part in it.
	edit(parent runtime.Object) (before runtime.Object, apply func(after runtime.Object) (runtime.Object, error), err error)
}

// tableConvertor is what apiextensions-apiserver's tableconvertor and its CRD table offer.
type tableConvertor interface {
	ConvertToTable(ctx context.Context, object runtime.Object, tableOptions runtime.Object) (*metav1.Table, error)
}

// objectInterfaces is what admission and managed fields need to handle objects of an endpoint.
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

// err answers the request with err as a Status, in the format the client accepts.
func (s *requestScope) err(err error, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, s.serializer, s.kind.GroupVersion(), w, req)
}

// target returns the namespace and name the request addresses.
func (s *requestScope) target(req *http.Request) (namespace, name string) {
	info, _ := request.RequestInfoFrom(req.Context())
	return info.Namespace, info.Name
}

// accessor returns the metadata of an object of this endpoint; every one of them has it.
func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("crdhandler: object without metadata: " + err.Error())
	}
	return m
}
