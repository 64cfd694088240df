package crdhandler

import (
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

var _ negotiation.EndpointRestrictions = &requestScope{}

// negotiate chooses the format of the answer by the Accept header. Pretty is set when the answer is to be
// indented, whichever way the client asked for it.
func (s *requestScope) negotiate(req *http.Request) (negotiation.MediaTypeOptions, error) {
	mediaType, info, err := negotiation.NegotiateOutputMediaType(req, s.serializer, s)
	if err != nil {
		return negotiation.MediaTypeOptions{}, err
	}
	mediaType.Pretty = info.PrettySerializer != nil && info.Serializer == info.PrettySerializer
	return mediaType, nil
}

// AllowsMediaTypeTransform says whether the endpoint has objects in a format, as they are (no target) or
// transformed. Protobuf exists for the metadata of custom resources, not for themselves (P1-P3).
func (s *requestScope) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return s.allowsUntransformed(mimeType, mimeSubType)
	}
	if !isMetaVersion(target.GroupVersion()) {
		return false
	}
	switch target.Kind {
	case "Table":
		return s.table != nil && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

func (s *requestScope) allowsUntransformed(mimeType, mimeSubType string) bool {
	if len(s.standardSerializers) == 0 {
		return true
	}
	for _, info := range s.standardSerializers {
		if info.MediaTypeType == mimeType && info.MediaTypeSubType == mimeSubType {
			return true
		}
	}
	return false
}

// AllowsServerVersion is asked about the sv parameter of an Accept header.
func (s *requestScope) AllowsServerVersion(version string) bool {
	return version == metav1.SchemeGroupVersion.Version
}

// AllowsStreamSchema is asked about the stream parameter of an Accept header.
func (s *requestScope) AllowsStreamSchema(schema string) bool { return schema == "watch" }

func isMetaVersion(gv schema.GroupVersion) bool {
	return gv == metav1.SchemeGroupVersion || gv == metav1beta1.SchemeGroupVersion
}

// fromBytes says that an answer in this format consists of the bytes of views.
func (s *requestScope) fromBytes(mediaType negotiation.MediaTypeOptions) bool {
	return mediaType.Accepted.MediaType == runtime.ContentTypeJSON && mediaType.Convert == nil && s.scale == nil
}

// tableOptions reads the parameters of a request for a Table; nil for any other.
func tableOptions(mediaType negotiation.MediaTypeOptions, req *http.Request) (*metav1.TableOptions, error) {
	if target := mediaType.Convert; target == nil || target.Kind != "Table" || !isMetaVersion(target.GroupVersion()) {
		return nil, nil
	}
	options := &metav1.TableOptions{}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion, options); err != nil {
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
