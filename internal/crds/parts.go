package crds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Parts is a CRD to be encoded in more than one version of the API. Its schemas, which are most of it, are the same JSON in all of them:
// they are encoded once, and put into what is made of the rest.
type Parts struct {
	// Bare is the CRD with marks for schemas. It shares all else with the CRD, and must not be modified.
	Bare *apiextensions.CustomResourceDefinition
	// whole is the CRD itself.
	whole *apiextensions.CustomResourceDefinition
	// schemas are the JSON that the marks stand for.
	schemas [][]byte
}

// A mark is a schema that has only a description: these two, and the number of the schema between them. It is drawn anew by each
// process, so that no client can put it into an object.
var (
	beforeMark = []byte(`{"description":"` + markPrefix)
	afterMark  = []byte(`"}`)
	markPrefix = "schema-" + string(uuid.NewUUID()) + "-"
)

// NewParts takes a CRD apart, which is not changed, and must not be as long as the parts are used.
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

// marked encodes a schema and returns the mark that stands for it.
func (p *Parts) marked(validation *apiextensions.CustomResourceValidation) (*apiextensions.CustomResourceValidation, error) {
	if validation == nil || validation.OpenAPIV3Schema == nil {
		return validation, nil
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(validation.OpenAPIV3Schema, props, nil); err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	encoded, err := json.Marshal(props)
	if err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	mark := markPrefix + strconv.Itoa(len(p.schemas))
	p.schemas = append(p.schemas, encoded)
	return &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Description: mark}}, nil
}

// Complete puts the schemas into what was encoded of Bare, or of a part of it.
func (p *Parts) Complete(encoded []byte) []byte {
	var pieces [][]byte
	for {
		before, after, found := bytes.Cut(encoded, beforeMark)
		pieces = append(pieces, before)
		if !found {
			return slices.Concat(pieces...)
		}
		number, rest, _ := bytes.Cut(after, afterMark)
		n, _ := strconv.Atoi(string(number)) // nobody else makes marks
		pieces, encoded = append(pieces, p.schemas[n]), rest
	}
}
