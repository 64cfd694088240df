package openapi

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
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

// route is a method of a path, in the form that the builders of documents take.
type route struct {
	method, path, action, operation, doc string
	parameters                           []parameter
	consumes, produces                   []string
	metadata                             map[string]any
	// kind is what the route is about; empty for that of the resource.
	kind schema.GroupVersionKind
	// body is what a request contains, empty if nothing.
	body         model
	bodyOptional bool
	responses    []common.StatusCodeResponse
}

var _ common.Route = &route{}

func (r *route) Method() string                                   { return r.method }
func (r *route) Path() string                                     { return r.path }
func (r *route) OperationName() string                            { return r.operation }
func (r *route) Description() string                              { return r.doc }
func (r *route) Consumes() []string                               { return r.consumes }
func (r *route) Produces() []string                               { return r.produces }
func (r *route) Metadata() map[string]any                         { return r.metadata }
func (r *route) ResponsePayloadSample() any                       { return nil }
func (r *route) StatusCodeResponses() []common.StatusCodeResponse { return r.responses }

// Parameters returns the parameters of the path and the query, and the body.
func (r *route) Parameters() []common.Parameter {
	var parameters []common.Parameter
	for _, p := range r.parameters {
		parameters = append(parameters, p)
	}
	if r.body != "" {
		parameters = append(parameters, parameter{name: "body", isBody: true, optional: r.bodyOptional})
	}
	return parameters
}

// RequestPayloadSample returns the definition of the body.
func (r *route) RequestPayloadSample() any {
	if r.body == "" {
		return nil
	}
	return r.body
}

// parameter is a parameter of a route: one of its path unless it says otherwise.
type parameter struct {
	name, doc, dataType     string
	query, isBody, optional bool
}

var pretty = parameter{
	name: "pretty", query: true, dataType: "string",
	doc: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates " +
		"a browser or command-line HTTP tool (curl and wget).",
}

func (p parameter) Name() string        { return p.name }
func (p parameter) Description() string { return p.doc }
func (p parameter) AllowMultiple() bool { return false }

// Required reports whether requests must have the parameter.
func (p parameter) Required() bool { return !p.query && !p.optional }

// DataType returns the type of the value.
func (p parameter) DataType() string {
	if p.dataType == "" {
		return "string"
	}
	return p.dataType
}

// Kind says where the parameter is.
func (p parameter) Kind() common.ParameterKind {
	switch {
	case p.query:
		return common.QueryParameterKind
	case p.isBody:
		return common.BodyParameterKind
	}
	return common.PathParameterKind
}

// response is a response of a route.
type response struct {
	code  int
	model model
}

func (r response) Code() int       { return r.code }
func (r response) Message() string { return http.StatusText(r.code) }
func (r response) Model() any      { return r.model }

// respond returns the responses with some codes, which have the same model.
func respond(with model, codes ...int) []common.StatusCodeResponse {
	var responses []common.StatusCodeResponse
	for _, code := range codes {
		responses = append(responses, response{code: code, model: with})
	}
	return responses
}
