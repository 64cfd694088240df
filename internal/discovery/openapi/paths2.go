package openapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// pathsV2 returns the operations in version 2. They refer to parameters that many operations have, which are in a section of
// their own in the document.
func pathsV2(operations []*operation) (map[string]spec.PathItem, error) {
	paths := map[string]spec.PathItem{}
	for path, operations := range byPath(operations) {
		shared, rest := commonParameters(operations)
		parameters, err := parametersV2(shared)
		if err != nil {
			return nil, err
		}
		item := spec.PathItem{PathItemProps: spec.PathItemProps{Parameters: parameters}}
		byMethod := map[string]**spec.Operation{
			http.MethodGet: &item.Get, http.MethodPut: &item.Put, http.MethodPost: &item.Post,
			http.MethodDelete: &item.Delete, http.MethodPatch: &item.Patch,
		}
		for n, op := range operations {
			if *byMethod[op.method], err = op.v2(rest[n]); err != nil {
				return nil, err
			}
		}
		paths[path] = item
	}
	return paths, nil
}

func (o *operation) v2(own []parameter) (*spec.Operation, error) {
	parameters, err := parametersV2(own)
	if err != nil {
		return nil, err
	}
	if o.reads != "" {
		body, err := shareParameter(o.bodyV2())
		if err != nil {
			return nil, err
		}
		// Parameters are sorted by name.
		at := 0
		for at < len(own) && own[at].name < "body" {
			at++
		}
		parameters = append(parameters[:at], append([]spec.Parameter{body}, parameters[at:]...)...)
	}
	out := &spec.Operation{
		VendorExtensible: spec.VendorExtensible{Extensions: o.extensions()},
		OperationProps: spec.OperationProps{
			Tags: o.tags, Description: o.description, ID: o.id,
			Consumes: o.consumes, Produces: o.produces, Schemes: []string{"https"},
			Parameters: parameters,
			Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: map[int]spec.Response{
				http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: "Unauthorized"}},
			}}},
		},
	}
	for _, r := range o.responses {
		out.Responses.StatusCodeResponses[r.code] = spec.Response{ResponseProps: spec.ResponseProps{
			Description: r.description, Schema: version2.ref(r.writes),
		}}
	}
	return out, nil
}

func (o *operation) bodyV2() spec.Parameter {
	return spec.Parameter{ParamProps: spec.ParamProps{
		Name: "body", In: "body", Required: o.bodyRequired, Schema: version2.ref(o.reads),
	}}
}

func (p parameter) v2() spec.Parameter {
	out := spec.Parameter{
		ParamProps:        spec.ParamProps{Name: p.name, Description: p.description, In: "query"},
		SimpleSchema:      spec.SimpleSchema{Type: p.kind},
		CommonValidations: spec.CommonValidations{UniqueItems: true},
	}
	if p.inPath {
		out.In, out.Required = "path", true
	}
	return out
}

func parametersV2(parameters []parameter) ([]spec.Parameter, error) {
	out := make([]spec.Parameter, 0, len(parameters))
	for _, p := range parameters {
		shared, err := shareParameter(p.v2())
		if err != nil {
			return nil, err
		}
		out = append(out, shared)
	}
	return out, nil
}

// shareParameter returns a reference to p if it is a shared parameter, and p itself otherwise.
func shareParameter(p spec.Parameter) (spec.Parameter, error) {
	if !sharable(&p) {
		return p, nil
	}
	name, err := sharedName(&p)
	if err != nil {
		return p, err
	}
	return spec.Parameter{Refable: spec.Refable{Ref: spec.MustCreateRef("#/parameters/" + name)}}, nil
}

// sharable says whether a parameter is shared. The parameter name mentions the kind and a body the resource; old versions of kubectl
// look for dryRun and fieldValidation in the operations themselves.
func sharable(p *spec.Parameter) bool {
	switch p.Name {
	case "name", "dryRun", "fieldValidation":
		return false
	case "body":
		return sharableBody(strings.TrimPrefix(p.Schema.Ref.String(), version2.prefix))
	}
	return true
}

// sharableBody says whether many operations read a body of this definition.
func sharableBody(definition string) bool {
	return strings.HasPrefix(definition, "io.k8s.apimachinery")
}

// sharedName returns the name of a shared parameter, which depends on its content only, as upstream's does.
func sharedName(p *spec.Parameter) (string, error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encoding parameter %s: %w", p.Name, err)
	}
	hash := fnv.New64()
	hash.Write(encoded)
	// Upstream uses the first six bytes.
	return p.Name + "-" + base64.URLEncoding.EncodeToString(hash.Sum(nil)[:6]), nil
}

// sharedParameters returns the parameters that operations refer to, by name.
func sharedParameters(operations []*operation) (map[string]spec.Parameter, error) {
	out := map[string]spec.Parameter{}
	for _, op := range operations {
		var parameters []spec.Parameter
		for _, p := range op.parameters {
			parameters = append(parameters, p.v2())
		}
		if op.reads != "" {
			parameters = append(parameters, op.bodyV2())
		}
		for n := range parameters {
			if !sharable(&parameters[n]) {
				continue
			}
			name, err := sharedName(&parameters[n])
			if err != nil {
				return nil, err
			}
			out[name] = parameters[n]
		}
	}
	return out, nil
}
