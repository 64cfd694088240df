package crdhandler

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/apihelpers"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// decodeDeleteOptions returns the DeleteOptions of a request: from the body, or from the query if there is no body
// (W15).
func (s *requestScope) decodeDeleteOptions(ctx context.Context, req *http.Request) (*metav1.DeleteOptions, error) {
	body, err := s.readBody(req)
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{}
	if len(body) > 0 {
		var version schema.GroupVersion
		if version, err = deleteOptionsFromBody(req, body, options); err == nil {
			codecs := apihelpers.GetMetaInternalVersionCodecs()
			audit.LogRequestObject(ctx, options, version, s.Resource, s.Subresource, codecs)
		}
	} else {
		err = queryOptions(req, options)
	}
	if err != nil {
		return nil, err
	}
	if !unsafeDeletionEnabled() {
		options.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	}
	return options, finishOptions(options, "DeleteOptions", validation.ValidateDeleteOptions(options))
}

// deleteOptionsFromBody decodes a body into options. It returns the version that the body names.
func deleteOptionsFromBody(
	req *http.Request, body []byte, options *metav1.DeleteOptions,
) (version schema.GroupVersion, err error) {
	codecs := apihelpers.GetMetaInternalVersionCodecs()
	info, err := negotiation.NegotiateInputSerializer(req, false, codecs)
	if err != nil {
		return version, err
	}
	kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, gvk, err := codecs.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode(body, &kind, options)
	if err != nil {
		return version, apierrors.NewBadRequest(err.Error())
	}
	if obj != options {
		return version, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return gvk.GroupVersion(), nil
}

// unsafeDeletionEnabled is upstream's feature gate for the deletion of objects that cannot be read (W18).
func unsafeDeletionEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
}

// ignoresReadErrors reports whether the options ask for the removal of an object that cannot be read.
func ignoresReadErrors(options *metav1.DeleteOptions) bool {
	ignore := options.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}
