package server

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crds"
)

// notFound answers requests that no handler serves: with 404, or with 503 if they came before all custom resources
// were known, because controllers take a 404 as proof of absence.
func notFound(w http.ResponseWriter, req *http.Request) {
	var gv schema.GroupVersion
	if info, ok := request.RequestInfoFrom(req.Context()); ok {
		gv = schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, req.Method, schema.GroupResource{}, "", "", 0, false)
	if !apifilters.NoMuxAndDiscoveryIncompleteKey(req.Context()) {
		err = apierrors.NewServiceUnavailable("the server is starting and does not know all resources yet, please try again")
		err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	}
	responsewriters.ErrorNegotiated(err, crds.Codecs, gv, w, req)
}
