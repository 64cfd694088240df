package crdhandler

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// requestScope has everything that a verb needs to know about its endpoint: a resource in one
// version, or one of its subresources. It is immutable and shared by all requests.
type requestScope struct {
	config *Config

	// Endpoint has the names of the endpoint, its stored objects, and the rules for writes.
	write.Endpoint
	listKind schema.GroupVersionKind
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
	// lists are compressed parts of this version's lists.
	lists *compressedLists
	// events says that the objects are events. kube-apiserver does not cache them, and they have no dependents.
	events bool

	// action is set at the endpoint of an action.
	action *endpointAction
	// connect is set at the endpoint of connections.
	connect *endpointConnect

	// fieldManager returns the field manager, which is built on first use.
	fieldManager func() (managedfields.Manager, error)
	// columns returns the convertor of objects into Tables of printed columns. It is built on first use.
	columns func() (printing.TableConvertor, error)

	deletion deletionRules
	// replaced ends when the crdInfo of the scope is out of date. Watches end then.
	replaced context.Context
}

// err answers the request with err as a Status, in a format that the client accepts.
func (s *requestScope) err(err error, w http.ResponseWriter, req *http.Request) {
	budget.Report(req.Context(), err)
	responsewriters.ErrorNegotiated(err, s.serializer, s.Kind.GroupVersion(), w, req)
}

// target returns the namespace and name that the request addresses.
func (s *requestScope) target(req *http.Request) (namespace, name string) {
	info, _ := request.RequestInfoFrom(req.Context())
	if !s.Namespaced {
		return "", info.Name // the path of a namespace names it as its own namespace
	}
	return info.Namespace, info.Name
}
