package openapi

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
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

func (c *container) add(r *restful.Route) {
	c.routes = append(c.routes, &restfuladapter.RouteAdapter{Route: r})
}

// definitions returns the definitions that the routes refer to. A kind without a definition is any object. Enums are
// behind a feature gate.
func (c *container) definitions(
	prefix string, rows []*builtin.Definition,
) (map[string]common.OpenAPIDefinition, error) {
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
			if _, ok := definitions[string(name)]; ok || name == "" {
				continue
			}
			anything := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
			anything.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
				"group": d.GroupVersion.Group, "version": d.GroupVersion.Version, "kind": kind,
			}})
			definitions[string(name)] = common.OpenAPIDefinition{Schema: anything}
		}
	}
	return utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(
		func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return definitions })(nil), nil
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

// documentPaths returns the paths of the documents of some resources.
func documentPaths(rows []*builtin.Definition) []string {
	var paths []string
	for _, d := range rows {
		version := strings.Trim(groupPath(d.GroupVersion), "/")
		paths = append(paths, path.Dir(version), version)
	}
	if issuesTokens(rows) {
		paths = slices.AppendSeq(paths, maps.Keys(issuerRoutes))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// newContainer returns the routes of the document of a path.
func newContainer(document string, rows []*builtin.Definition) *container {
	c := &container{}
	if r := issuerRoutes[document]; r != nil {
		c.add(r)
		return c
	}
	root := func(operation, doc string, returned model) {
		if len(c.routes) == 0 {
			c.add(&restful.Route{
				Method: http.MethodGet, Path: "/" + document + "/", Operation: operation, Doc: doc,
				Consumes: mediaTypes, Produces: mediaTypes, ResponseErrors: respond(returned, http.StatusOK),
			})
		}
	}
	for _, d := range rows {
		switch version := strings.Trim(groupPath(d.GroupVersion), "/"); {
		case document == version:
			c.groupVersion = d.GroupVersion
			root("getAPIResources", "get available resources", apiResourceList)
			c.addResource(d)
		case document != path.Dir(version):
		case d.GroupVersion.Group == "":
			root("getAPIVersions", "get available API versions", apiVersions)
		default:
			root("getAPIGroup", "get information of a group", apiGroup)
		}
	}
	return c
}

// groupPath returns the path below which a group and version is served.
func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version + "/"
	}
	return "/apis/" + gv.Group + "/" + gv.Version + "/"
}
