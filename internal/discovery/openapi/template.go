package openapi

import (
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// sample is the resource that the builder describes. Its names differ in all forms, and none occurs in the builder's
// own texts.
var sample = resource{
	group: "sample.group", version: "sample-version", plural: "sample-plural", kind: "sample-kind",
	listKind: "sample-list",
	fields:   []any{map[string]any{"fieldPath": "sampleField"}},
}

// embeddedProperty is the property of the sample that is an embedded object.
const embeddedProperty = "embedded"

// template is the builder's description of all resources of a shape.
type template struct {
	// paths and list are members of JSON objects. list is the definition of the list kind.
	paths, list *objectjson.Template
	// object is the definition of the kind of the sample. It must not be modified.
	object spec.Schema
}

type templateKey struct {
	v *openAPIVersion
	shape
}

// templates are the templates that have been needed so far. There are at most 32.
var templates sync.Map // templateKey -> func() (*template, error)

// template returns the template for resources of a shape.
func (v *openAPIVersion) template(s shape) (*template, error) {
	key := templateKey{v, s}
	made, ok := templates.Load(key)
	if !ok {
		made, _ = templates.LoadOrStore(key, sync.OnceValues(func() (*template, error) { return v.newTemplate(s) }))
	}
	return made.(func() (*template, error))()
}

func (v *openAPIVersion) newTemplate(s shape) (*template, error) {
	paths, definitions, err := v.build(s.sample())
	if err != nil {
		return nil, fmt.Errorf("describing resources: %w", err)
	}
	listName := sample.definitionName(sample.listKind)
	list, err := members(spec.Definitions{listName: definitions[listName]})
	if err != nil {
		return nil, err
	}
	forms, err := sample.forms()
	if err != nil {
		return nil, err
	}
	marks := make([]string, 0, 2*len(forms))
	for n, form := range forms {
		marks = append(marks, string(form), objectjson.Mark(n))
	}
	replacer := strings.NewReplacer(marks...)
	parse := func(encoded []byte) *objectjson.Template {
		return objectjson.NewTemplate([]byte(replacer.Replace(string(encoded))), "", "")
	}
	return &template{paths: parse(paths), list: parse(list), object: definitions[sample.definitionName(sample.kind)]}, nil
}

// sample returns the CRD of the sample with a shape.
func (s shape) sample() *apiextensionsv1.CustomResourceDefinition {
	object := apiextensionsv1.JSONSchemaProps{Type: "object"}
	embedded := object
	embedded.XEmbeddedResource = true
	embedded.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": object}
	schema := object
	schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{embeddedProperty: embedded}
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: sample.version, Served: true, Storage: true,
		Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
		Subresources: &apiextensionsv1.CustomResourceSubresources{},
	}
	if s.status {
		version.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	if s.scale {
		version.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{}
	}
	if s.selectable {
		version.SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".sampleField"}}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: sample.group, Scope: apiextensionsv1.ClusterScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: sample.plural, Kind: sample.kind,
			ListKind: sample.listKind},
	}}
	if s.namespaced {
		crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	}
	return crd
}

// buildV2 returns the builder's paths, encoded, and definitions of the sample in version 2.
func buildV2(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, spec.Definitions, error) {
	swagger, err := builder.BuildOpenAPIV2(crd, sample.version, builder.Options{V2: true, IncludeSelectableFields: true})
	if err != nil {
		return nil, nil, err
	}
	paths, err := members(swagger.Paths.Paths)
	return paths, handler.PruneDefaults(swagger.Definitions), err
}

// buildV3 returns the builder's paths, encoded, and definitions of the sample in version 3.
func buildV3(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, spec.Definitions, error) {
	document, err := builder.BuildOpenAPIV3(crd, sample.version, builder.Options{IncludeSelectableFields: true})
	if err != nil {
		return nil, nil, err
	}
	definitions := spec.Definitions{}
	for name, schema := range document.Components.Schemas {
		definitions[name] = *schema
	}
	paths, err := members(document.Paths.Paths)
	return paths, definitions, err
}
