package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
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
	for _, path := range documentPaths(rows) {
		documents[path] = sync.OnceValues(func() (*Document, error) {
			encoded, err := builtinV3(version, newContainer(path, rows), rows)
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
	routes.scopeKinds(definitions)
	document, err := builder3.BuildOpenAPISpecFromRoutes([]common.RouteContainer{routes}, &common.OpenAPIV3Config{
		Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: version}},
		CommonResponses: map[int]*spec3.Response{
			http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
		},
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
	for _, path := range documentPaths(rows) {
		all.routes = append(all.routes, newContainer(path, rows).routes...)
	}
	definitions, err := all.definitions(schemas.PrefixV2, rows)
	if err != nil {
		return nil, err
	}
	document, err := builder.BuildOpenAPISpecFromRoutes([]common.RouteContainer{all}, &common.Config{
		ProtocolList: []string{"https"},
		CommonResponses: map[int]spec.Response{
			http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: unauthorized}},
		},
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
		GetDefinitionName:              definitionName,
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			return definitions
		},
	})
	if err != nil {
		return nil, err
	}
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

// fingerprintOf hashes the parts of rows that documents show, all definitions, and whether they have enums.
func fingerprintOf(rows []*builtin.Definition) string {
	if len(rows) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, d := range rows {
		fmt.Fprintln(hash, d.GroupVersionKind(), d.Plural, d.Namespaced, d.VerbList(), d.ReturnsDeleted)
		for _, sub := range d.Subresources {
			fmt.Fprintln(hash, sub.Name, sub.Verbs, sub.GroupVersionKind(d))
		}
	}
	fmt.Fprint(hash, schemas.Hash(), utilfeature.DefaultFeatureGate.Enabled(features.OpenAPIEnums))
	return hex.EncodeToString(hash.Sum(nil))
}

// definitionName returns the name of a definition in documents. Definitions have all extensions already.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

// operationIDAndTags adds the group and version to the name of an operation.
func operationIDAndTags(r common.Route) (string, []string, error) {
	return openapi.GetOperationIDAndTags(&restful.Route{Operation: r.OperationName(), Path: r.Path()})
}
