package openapi

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/util"
)

// model is the name of a definition. It stands for a Go value where the builder of documents takes one.
type model string

// OpenAPIModelName returns the name.
func (m model) OpenAPIModelName() string { return string(m) }

// modelOf returns the name of the definition of a value.
func modelOf(value any) model {
	if value == nil {
		return ""
	}
	return model(util.GetCanonicalTypeName(value))
}

// Definitions of apimachinery that routes refer to.
var (
	apiGroup        = modelOf(metav1.APIGroup{})
	apiResourceList = modelOf(metav1.APIResourceList{})
	apiVersions     = modelOf(metav1.APIVersions{})
	deleteOptions   = modelOf(metav1.DeleteOptions{})
	patch           = modelOf(metav1.Patch{})
	status          = modelOf(metav1.Status{})
	watchEvent      = modelOf(metav1.WatchEvent{})
)

// pretty is a parameter of the routes of resources.
var pretty = restful.QueryParameter("pretty", "If 'true', then the output is pretty printed. Defaults to 'false' "+
	"unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).")

// respond returns the responses with some codes, which have the same model.
func respond(with model, codes ...int) map[int]restful.ResponseError {
	responses := map[int]restful.ResponseError{}
	for _, code := range codes {
		responses[code] = restful.ResponseError{Code: code, Message: http.StatusText(code), Model: with}
	}
	return responses
}
