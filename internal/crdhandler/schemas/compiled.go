package schemas

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// Compiled is everything compiled from the schemas of one CRD, each part on its first use. The same CRD always compiles
// to the same result, so a request may use an evicted Compiled and its successor.
type Compiled struct {
	// Definition is the CRD without its schemas.
	Definition *apiextensionsv1.CustomResourceDefinition
	Set        *validation.Set
	Converter  *conversion.Converter
}

// Compile decodes a CRD without its schemas. A schema is decoded when a part of it is compiled.
func Compile(converters *conversion.Factory, record *crds.Record) (*Compiled, error) {
	definition, err := record.Outline()
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", record.Name, err)
	}
	set := validation.NewLazy(definition, record.Internal)
	converter, err := converters.New(definition, set)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", record.Name, err)
	}
	return &Compiled{Definition: definition, Set: set, Converter: converter}, nil
}

// Version returns a version of the CRD.
func (c *Compiled) Version(name string) (*validation.Version, error) {
	v := c.Set.Version(name)
	if v == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s has no version %q", c.Definition.Name, name)
	}
	return v, nil
}
