// Package printing negotiates the format of a response and transforms objects into it: Tables of printed columns,
// PartialObjectMetadata, or the objects themselves.
//
// Begin at endpoint.go, which says which formats an endpoint has; printer.go transforms objects for one request,
// table.go into Tables and metadata.go into metadata.
package printing

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// Endpoint says which formats an endpoint has.
type Endpoint struct {
	// Kind is the kind of the endpoint's objects.
	Kind schema.GroupVersionKind
	// Serializer has the media types of responses.
	Serializer runtime.NegotiatedSerializer
	// ObjectSerializers are the media types of the objects themselves: custom resources have no protobuf, though their
	// metadata and Status do. Nil means all of them.
	ObjectSerializers []runtime.SerializerInfo
	// Table returns the convertor for Tables; nil if the endpoint has none.
	Table func() (TableConvertor, error)
	// Convertor converts objects to the version of Kind.
	Convertor runtime.ObjectConvertor
}

var _ negotiation.EndpointRestrictions = &Endpoint{}

// TableConvertor computes the columns and cells of Tables. apiextensions-apiserver's tableconvertor implements it for
// custom resources, and its registry for CRDs. crdhandler creates them.
type TableConvertor interface {
	ConvertToTable(ctx context.Context, object runtime.Object, tableOptions runtime.Object) (*metav1.Table, error)
}

// Negotiate chooses the format of the response by the Accept header. It sets Pretty if the response is to be indented,
// for whatever reason.
func (e *Endpoint) Negotiate(req *http.Request) (*negotiation.MediaTypeOptions, error) {
	mediaType, info, err := negotiation.NegotiateOutputMediaType(req, e.Serializer, e)
	if err != nil {
		return nil, err
	}
	mediaType.Pretty = info.PrettySerializer != nil && info.Serializer == info.PrettySerializer
	return &mediaType, nil
}

// AllowsMediaTypeTransform reports whether the endpoint has objects in a media type, as they are (target is nil) or
// transformed (P1-P3).
func (e *Endpoint) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return e.allowsObjects(mimeType, mimeSubType)
	}
	if !isMetaVersion(target.GroupVersion()) {
		return false
	}
	switch target.Kind {
	case "Table":
		return e.Table != nil && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

func (e *Endpoint) allowsObjects(mimeType, mimeSubType string) bool {
	if len(e.ObjectSerializers) == 0 {
		return true
	}
	for _, info := range e.ObjectSerializers {
		if info.MediaTypeType == mimeType && info.MediaTypeSubType == mimeSubType {
			return true
		}
	}
	return false
}

// AllowsServerVersion decides about the sv parameter of an Accept header.
func (e *Endpoint) AllowsServerVersion(version string) bool {
	return version == metav1.SchemeGroupVersion.Version
}

// AllowsStreamSchema decides about the stream parameter of an Accept header.
func (e *Endpoint) AllowsStreamSchema(schema string) bool { return schema == "watch" }

func isMetaVersion(gv schema.GroupVersion) bool {
	return gv == metav1.SchemeGroupVersion || gv == metav1beta1.SchemeGroupVersion
}

// IsMetadataOnly reports whether a response has nothing of objects but their metadata.
func IsMetadataOnly(mediaType *negotiation.MediaTypeOptions) bool {
	return mediaType.Convert != nil && (mediaType.Convert.Kind == "PartialObjectMetadata" ||
		mediaType.Convert.Kind == "PartialObjectMetadataList")
}

// tableOptions reads the parameters of a request for a Table. It returns nil for any other request.
func tableOptions(mediaType *negotiation.MediaTypeOptions, req *http.Request) (*metav1.TableOptions, error) {
	if target := mediaType.Convert; target == nil || target.Kind != "Table" || !isMetaVersion(target.GroupVersion()) {
		return nil, nil
	}
	options := &metav1.TableOptions{}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion,
		options); err != nil {
		return nil, err
	}
	switch errs := validation.ValidateTableOptions(options); len(errs) {
	case 0:
		return options, nil
	case 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0].Error()))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}
