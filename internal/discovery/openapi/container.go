package openapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/schemas"
)

// container has the routes of one document.
type container struct {
	groupVersion schema.GroupVersion
	routes       []common.Route
}

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

// scopeKinds leaves out the groups of other documents from the kinds that every group has.
func (c *container) scopeKinds(definitions map[string]common.OpenAPIDefinition) {
	for _, name := range []model{deleteOptions, watchEvent} {
		extensions := definitions[string(name)].Schema.Extensions
		kinds, _ := extensions["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) == 0 {
			continue
		}
		extensions["x-kubernetes-group-version-kind"] = slices.DeleteFunc(kinds, func(kind any) bool {
			k := kind.(map[string]any)
			gv := schema.GroupVersion{Group: k["group"].(string), Version: k["version"].(string)}
			return gv != c.groupVersion && gv != metav1.Unversioned
		})
	}
}

// containers returns the routes of built-in resources, by the paths of their documents.
func containers(rows []*builtin.Definition) map[string]*container {
	all := map[string]*container{}
	of := func(path, operation, doc string, returned model) *container {
		key := strings.Trim(path, "/")
		if all[key] == nil {
			all[key] = &container{routes: []common.Route{&route{
				method: http.MethodGet, path: path, operation: operation, doc: doc, consumes: mediaTypes, produces: mediaTypes,
				responses: respond(returned, http.StatusOK),
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
		c.groupVersion = d.GroupVersion
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
