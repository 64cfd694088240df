package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/schemas"
)

const unauthorized = "Unauthorized"

// bearerToken is the only authentication that kube-apiserver describes.
var bearerToken = spec3.SecuritySchemeProps{
	Description: "Bearer Token authentication", Type: "apiKey", Name: "authorization", In: "header",
}

// newBuiltin returns the documents of built-in resources in version 3, by path. Each is made on the first call.
func newBuiltin(version string, rows []*builtin.Definition) map[string]func() (*Document, error) {
	documents := map[string]func() (*Document, error){}
	for path, routes := range containers(rows) {
		documents[path] = sync.OnceValues(func() (*Document, error) {
			encoded, err := builtinV3(version, routes, rows)
			if err != nil {
				return nil, fmt.Errorf("describing built-in resources of %s: %w", path, err)
			}
			return &Document{Begin: encoded, Protobuf: func() ([]byte, error) { return protobufV3(encoded) }}, nil
		})
	}
	return documents
}

// builtinV3 returns the document of some routes in version 3.
func builtinV3(version string, routes *container, rows []*builtin.Definition) ([]byte, error) {
	definitions, err := routes.definitions(schemas.PrefixV3, rows)
	if err != nil {
		return nil, err
	}
	document, err := builder3.BuildOpenAPISpecFromRoutes([]common.RouteContainer{routes}, &common.OpenAPIV3Config{
		Info:                           &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: version}},
		CommonResponses:                map[int]*spec3.Response{401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}}},
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
		GetDefinitionName:              definitionName,
		Definitions:                    definitions,
		SecuritySchemes:                spec3.SecuritySchemes{"BearerToken": {SecuritySchemeProps: bearerToken}},
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// builtinV2 returns the paths, definitions and parameters of built-in resources in version 2.
func builtinV2(rows []*builtin.Definition) (*spec.Swagger, error) {
	all := &container{}
	for _, routes := range containers(rows) {
		all.routes = append(all.routes, routes.routes...)
	}
	definitions, err := all.definitions(schemas.PrefixV2, rows)
	if err != nil {
		return nil, err
	}
	document, err := builder.BuildOpenAPISpecFromRoutes([]common.RouteContainer{all}, &common.Config{
		ProtocolList:                   []string{"https"},
		CommonResponses:                map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: unauthorized}}},
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
		GetDefinitionName:              definitionName,
		GetDefinitions:                 func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return definitions },
	})
	if err != nil {
		return nil, err
	}
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

// definitionName returns the name of a definition in documents. Definitions have all extensions already.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

// operationIDAndTags adds the group and version to the name of an operation.
func operationIDAndTags(r common.Route) (string, []string, error) {
	return openapi.GetOperationIDAndTags(&restful.Route{Operation: r.OperationName(), Path: r.Path()})
}

// container has the routes of one document.
type container struct{ routes []common.Route }

func (c *container) RootPath() string                   { return "" }
func (c *container) PathParameters() []common.Parameter { return nil }
func (c *container) Routes() []common.Route             { return c.routes }

// definitions returns the definitions that the routes refer to. A kind without a definition is any object.
func (c *container) definitions(prefix string, rows []*builtin.Definition) (map[string]common.OpenAPIDefinition, error) {
	names := map[string]struct{}{}
	for _, r := range c.routes {
		if body, ok := r.RequestPayloadSample().(model); ok {
			names[string(body)] = struct{}{}
		}
		for _, response := range r.StatusCodeResponses() {
			names[string(response.Model().(model))] = struct{}{}
		}
	}
	definitions, err := schemas.Definitions(prefix, slices.Collect(maps.Keys(names))...)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		kinds := map[model]string{modelOf(d.Object): d.Kind, modelOf(d.List): d.Kind + "List"}
		for name, kind := range kinds {
			if _, ok := definitions[string(name)]; ok {
				continue
			}
			anything := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
			anything.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
				"group": d.GroupVersion.Group, "version": d.GroupVersion.Version, "kind": kind,
			}})
			definitions[string(name)] = common.OpenAPIDefinition{Schema: anything}
		}
	}
	return definitions, nil
}

// containers returns the routes of built-in resources, by the paths of their documents.
func containers(rows []*builtin.Definition) map[string]*container {
	all := map[string]*container{}
	of := func(path, operation, doc string, returned model) *container {
		key := strings.Trim(path, "/")
		if all[key] == nil {
			all[key] = &container{routes: []common.Route{&route{
				method: "GET", path: path, operation: operation, doc: doc, consumes: mediaTypes, produces: mediaTypes,
				responses: respond(returned, 200),
			}}}
		}
		return all[key]
	}
	for _, d := range rows {
		if d.GroupVersion.Group == "" {
			of("/api/", "getAPIVersions", "get available API versions", apiVersions)
		} else {
			of("/apis/"+d.GroupVersion.Group+"/", "getAPIGroup", "get information of a group", apiGroup)
		}
		c := of(groupPath(d.GroupVersion), "getAPIResources", "get available resources", apiResourceList)
		c.routes = append(c.routes, routesOf(d)...)
	}
	return all
}

// groupPath returns the path below which a group and version is served.
func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version + "/"
	}
	return "/apis/" + gv.Group + "/" + gv.Version + "/"
}
