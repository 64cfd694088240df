package crdhandler

import (
	"fmt"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
)

// get answers with one object (W19).
func (s *requestScope) get(w http.ResponseWriter, req *http.Request) {
	namespace, name := s.target(req)
	answer, err := s.negotiate(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	resourceVersion, err := getOptions(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	key, err := stored.Key(s.Namespaced, namespace, name)
	if err != nil {
		s.err(err, w, req)
		return
	}
	at, err := selection.ReadAt(resourceVersion)
	if err != nil && s.events {
		err = apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if err != nil {
		s.err(err, w, req)
		return
	}
	entry, _, err := s.Objects.Resource.Get(req.Context(), key, at)
	if err != nil {
		s.err(s.Objects.APIError(err, name), w, req)
		return
	}
	if !answer.copies() || answer.media.Pretty {
		if err := stored.Reserve(req.Context(), entry); err != nil {
			s.err(err, w, req)
			return
		}
	}
	answer.respond(w, http.StatusOK, stored.Answer{Entry: entry})
}

// getOptions reads the query of a GET. Its only option with an effect is the resourceVersion.
func getOptions(req *http.Request) (resourceVersion string, err error) {
	if req.URL.RawQuery == "" {
		return "", nil
	}
	query := req.URL.Query()
	if err := refuseExport(query); err != nil {
		return "", err
	}
	var options metav1.GetOptions
	codec := metainternalscheme.ParameterCodec
	if err := codec.DecodeParameters(query, metav1.SchemeGroupVersion, &options); err != nil {
		return "", apierrors.NewBadRequest(err.Error())
	}
	return options.ResourceVersion, nil
}

// refuseExport refuses the parameter export, which was removed from Kubernetes.
func refuseExport(query url.Values) error {
	values := query["export"]
	if len(values) == 0 {
		return nil
	}
	export := true
	if err := runtime.Convert_Slice_string_To_bool(&values, &export, nil); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the export parameter cannot be parsed: %v", err))
	}
	if export {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}
