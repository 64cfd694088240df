package crds

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// Parts is a CRD to be encoded in more than one version of the API. Its schemas are most of it and the same JSON in
// all versions, so Parts encodes them once.
type Parts struct {
	// Bare is the CRD with marks (objectjson.Mark) in place of schemas. It shares everything else with the CRD and
	// must not be modified.
	Bare *apiextensions.CustomResourceDefinition
	// whole is the CRD itself.
	whole *apiextensions.CustomResourceDefinition
	// schemas are encoded.
	schemas [][]byte
}

// NewParts splits crd. It does not modify crd; the caller must not modify it while Parts is in use.
func NewParts(crd *apiextensions.CustomResourceDefinition) (*Parts, error) {
	bare := *crd
	p := &Parts{Bare: &bare, whole: crd}
	var err error
	if bare.Spec.Validation, err = p.marked(crd.Spec.Validation); err != nil {
		return nil, err
	}
	bare.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for n := range bare.Spec.Versions {
		version := &bare.Spec.Versions[n]
		if version.Schema, err = p.marked(version.Schema); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// marked encodes a schema and returns one that has only a mark as description.
func (p *Parts) marked(
	validation *apiextensions.CustomResourceValidation,
) (*apiextensions.CustomResourceValidation, error) {
	if validation == nil || validation.OpenAPIV3Schema == nil {
		return validation, nil
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(validation.OpenAPIV3Schema,
		props, nil); err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	encoded, err := json.Marshal(props)
	if err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	mark := &apiextensions.JSONSchemaProps{Description: objectjson.Mark(len(p.schemas))}
	p.schemas = append(p.schemas, encoded)
	return &apiextensions.CustomResourceValidation{OpenAPIV3Schema: mark}, nil
}

// Complete puts the schemas into JSON of Bare.
func (p *Parts) Complete(encoded []byte) []byte {
	return objectjson.NewTemplate(encoded, `{"description":"`, `"}`).Append(nil, p.schemas)
}
