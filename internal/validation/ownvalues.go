package validation

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// newStructural makes a schema structural, with values of its own: NewStructural shares those of the CRD, which may be in use, and pruning
// modifies them. They are as they will have been stored and read, after which 1.0 is 1.
func newStructural(props *apiextensions.JSONSchemaProps) (*structuralschema.Structural, error) {
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	var own ownValues
	visitor := structuralschema.Visitor{Structural: own.node, NestedValueValidation: own.nested}
	visitor.Visit(s)
	return s, own.err
}

// ownValues replaces the values in a schema.
type ownValues struct {
	err error // the first one
}

func (o *ownValues) node(s *structuralschema.Structural) (changed bool) {
	if s.ValueValidation != nil {
		o.enum(s.ValueValidation)
	}
	shown := o.value(&s.Default)
	return o.value(&s.Example) || shown
}

func (o *ownValues) nested(n *structuralschema.NestedValueValidation) (changed bool) {
	o.enum(&n.ValueValidation)
	return false
}

// enum replaces in place: the slice is the schema's own already.
func (o *ownValues) enum(v *structuralschema.ValueValidation) {
	for n := range v.Enum {
		o.value(&v.Enum[n])
	}
}

// value replaces one, unless it is of a type that cannot be modified or become another one.
func (o *ownValues) value(value *structuralschema.JSON) (changed bool) {
	switch value.Object.(type) {
	case nil, bool, string, int64:
		return false
	}
	var (
		shared = apiextensions.JSON(value.Object)
		own    apiextensions.JSON
		text   apiextensionsv1.JSON
	)
	err := apiextensionsv1.Convert_apiextensions_JSON_To_v1_JSON(&shared, &text, nil)
	if err == nil {
		err = apiextensionsv1.Convert_v1_JSON_To_apiextensions_JSON(&text, &own, nil)
	}
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("reading a value: %w", err)
	}
	value.Object = own
	return true
}
