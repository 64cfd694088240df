package openapi

import (
	"net/http"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// pathsV3 returns the operations in version 3.
func pathsV3(operations []*operation) map[string]*spec3.Path {
	paths := map[string]*spec3.Path{}
	for path, operations := range byPath(operations) {
		shared, rest := commonParameters(operations)
		item := &spec3.Path{PathProps: spec3.PathProps{Parameters: parametersV3(shared)}}
		byMethod := map[string]**spec3.Operation{
			http.MethodGet: &item.Get, http.MethodPut: &item.Put, http.MethodPost: &item.Post,
			http.MethodDelete: &item.Delete, http.MethodPatch: &item.Patch,
		}
		for n, op := range operations {
			*byMethod[op.method] = op.v3(rest[n])
		}
		paths[path] = item
	}
	return paths
}

func (o *operation) v3(parameters []parameter) *spec3.Operation {
	out := &spec3.Operation{
		VendorExtensible: spec.VendorExtensible{Extensions: o.extensions()},
		OperationProps: spec3.OperationProps{
			Tags:        o.tags,
			Description: o.description,
			OperationId: o.id,
			Parameters:  parametersV3(parameters),
			Responses: &spec3.Responses{ResponsesProps: spec3.ResponsesProps{
				StatusCodeResponses: map[int]*spec3.Response{
					http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: "Unauthorized"}},
				},
			}},
		},
	}
	for _, r := range o.responses {
		out.Responses.StatusCodeResponses[r.code] = &spec3.Response{ResponseProps: spec3.ResponseProps{
			Description: r.description,
			Content:     contentV3(o.produces, r.writes),
		}}
	}
	if o.reads != "" {
		out.RequestBody = &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{
			Content:  contentV3(o.consumes, o.reads),
			Required: o.bodyRequired,
		}}
	}
	return out
}

func contentV3(mediaTypes []string, definition string) map[string]*spec3.MediaType {
	media := &spec3.MediaType{MediaTypeProps: spec3.MediaTypeProps{Schema: version3.ref(definition)}}
	content := map[string]*spec3.MediaType{}
	for _, mediaType := range mediaTypes {
		content[mediaType] = media
	}
	return content
}

func parametersV3(parameters []parameter) []*spec3.Parameter {
	var out []*spec3.Parameter
	for _, p := range parameters {
		props := spec3.ParameterProps{
			Name:        p.name,
			Description: p.description,
			In:          "query",
			Schema:      &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{p.kind}, UniqueItems: true}},
		}
		if p.inPath {
			props.In, props.Required = "path", true
		}
		out = append(out, &spec3.Parameter{ParameterProps: props})
	}
	return out
}

// extensions returns the extensions of Kubernetes to an operation.
func (o *operation) extensions() spec.Extensions {
	if o.kind == nil {
		return nil
	}
	return spec.Extensions{extensionAction: o.action, extensionKind: *o.kind}
}

const (
	extensionAction     = "x-kubernetes-action"
	extensionKind       = "x-kubernetes-group-version-kind"
	extensionSelectable = "x-kubernetes-selectable-fields"
)
