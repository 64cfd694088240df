package schemas

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TypeConverter returns the type converter for the managed fields of a kind, by the names of its definitions in all
// versions, such as "io.k8s.api.core.v1.ConfigMap". A kind without a definition has a converter that deduces types from
// values. The caller keeps the converter, because each call makes a new one.
func TypeConverter(modelNames ...string) (managedfields.TypeConverter, error) {
	definitions, err := Definitions(PrefixV3, modelNames...)
	if err != nil {
		return nil, err
	}
	if len(definitions) == 0 {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	config := &common.OpenAPIV3Config{
		Definitions:       definitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) { return name, nil },
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(config, modelNames...)
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI schemas of %s: %w", modelNames, err)
	}
	types, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		return nil, fmt.Errorf("converting the OpenAPI schemas of %s: %w", modelNames, err)
	}
	return types, nil
}
