package schemas

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// reference is how the archive refers to other definitions.
const reference = "#/definitions/"

var references = regexp.MustCompile(`"\$ref":"` + reference + `([^"]+)"`)

// Prefixes of references to definitions in the versions of OpenAPI.
const (
	PrefixV2 = reference
	PrefixV3 = "#/components/schemas/"
)

// Definitions returns the definitions of the names, and of all to which these refer, as the generator of kube-openapi
// makes them. References begin with prefix. A name without a definition is left out.
func Definitions(prefix string, names ...string) (map[string]common.OpenAPIDefinition, error) {
	from, err := openArchive()
	if err != nil {
		return nil, err
	}
	found := map[string]common.OpenAPIDefinition{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if _, done := found[name]; done {
			continue
		}
		encoded, err := from.definition(name)
		if err != nil {
			return nil, err
		}
		if encoded == nil {
			continue
		}
		definition, err := decode(encoded, prefix)
		if err != nil {
			return nil, fmt.Errorf("decoding the OpenAPI definition of %s: %w", name, err)
		}
		found[name] = definition
		names = append(names, definition.Dependencies...)
	}
	return found, nil
}

// decode decodes a definition and replaces the beginning of its references.
func decode(encoded []byte, prefix string) (common.OpenAPIDefinition, error) {
	definition := common.OpenAPIDefinition{}
	for _, match := range references.FindAllSubmatch(encoded, -1) {
		definition.Dependencies = append(definition.Dependencies, string(match[1]))
	}
	encoded = references.ReplaceAll(encoded, []byte(`"$$ref":"`+prefix+`$1"`))
	if err := definition.Schema.UnmarshalJSON(encoded); err != nil {
		return definition, err
	}
	// Some types, such as Quantity, differ in version 2. The builder of documents expects the Go type here.
	v2, differs := definition.Schema.Extensions[common.ExtensionV2Schema]
	if !differs {
		return definition, nil
	}
	encoded, err := json.Marshal(v2)
	if err != nil {
		return definition, err
	}
	schema := spec.Schema{}
	if err := schema.UnmarshalJSON(encoded); err != nil {
		return definition, err
	}
	definition.Schema.Extensions[common.ExtensionV2Schema] = schema
	return definition, nil
}
