package validation

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fastSchema is the objectSchema for the common case: an object with nothing to prune and without errors. It recognises
// such objects by its own compiled form of the schema, whose nodes are compiled once; the library builds its validators
// for every value anew. Everything else goes to the library, which makes all error messages. Fuzz tests compare the
// two.
//
// fastSchema also bounds the work for hostile objects: the size of defaults, and the number of errors that the library
// finds.
//
// See docs/upstream.md, "Validators are built for every value" and "Quadratic error lists".
type fastSchema struct {
	library librarySchema
	root    *node
	// lists is the part of the structural schema that validateLists needs.
	lists *structuralschema.Structural
}

var _ objectSchema = &fastSchema{}

func newFastSchema(library librarySchema) *fastSchema {
	s := &fastSchema{library: library, lists: keyedLists(library.structural)}
	switch {
	case library.structural != nil:
		s.root = compileNode(library.structural)
	case library.version.set.crd.Spec.PreserveUnknownFields:
		s.root = &node{opaque: true} // there may be a schema that is not structural
	default:
		s.root = compileNode(&structuralschema.Structural{})
	}
	return s
}

func (s *fastSchema) prune(obj map[string]any, trackUnknown bool) (unknownFields []string) {
	if s.root.cleanObject(obj, true) {
		return nil
	}
	return s.library.prune(obj, trackUnknown)
}

func (s *fastSchema) setDefaults(obj map[string]any, limit int) error {
	d := defaulter{left: limit}
	d.set(s.root, obj)
	if d.left < 0 {
		return ErrTooLarge
	}
	return nil
}

func (s *fastSchema) validate(ctx context.Context, obj map[string]any) field.ErrorList {
	v := newVisit(ctx)
	if s.root.check(v, obj) == valid {
		return nil
	}
	return s.fallBack(v, s.root, nil, func(library *librarySchema) field.ErrorList {
		return library.validate(ctx, obj)
	})
}

// validateUpdate may ignore old if obj is valid: the library only drops errors of unchanged values, but not inside
// oneOf and not, where fewer errors could make a value invalid.
func (s *fastSchema) validateUpdate(ctx context.Context, obj, old map[string]any, ratchet *ratchet) field.ErrorList {
	v := newVisit(ctx)
	if s.root.check(v, obj) == valid {
		return nil
	}
	return s.fallBack(v, s.root, nil, func(library *librarySchema) field.ErrorList {
		return library.validateUpdate(ctx, obj, old, ratchet)
	})
}

func (s *fastSchema) validateStatusUpdate(
	ctx context.Context, obj, old map[string]any, ratchet *ratchet,
) field.ErrorList {
	status, root := obj["status"], s.root.statusNode()
	v := newVisit(ctx)
	if root.check(v, status) == valid {
		return nil
	}
	return s.fallBack(v, root, field.NewPath("status"), func(library *librarySchema) field.ErrorList {
		return library.validateStatusUpdate(ctx, obj, old, ratchet)
	})
}

func (s *fastSchema) validateLists(obj map[string]any) field.ErrorList {
	library := s.library
	library.structural = s.lists
	return library.validateLists(obj)
}

// fallBack validates with the library what v has found not to be valid. n is the compiled form of the schema of the
// value at a path. The library stops at maxErrors, and when the context is done.
func (s *fastSchema) fallBack(
	v *visit, n *node, path *field.Path, validate func(library *librarySchema) field.ErrorList,
) field.ErrorList {
	if v.matching == nil {
		v.matching = newMatching()
	}
	search := &errorSearch{ctx: v.ctx, node: n, left: maxErrors, matching: v.matching}
	library := s.library
	library.newValidator = func(schema *spec.Schema) apiservervalidation.SchemaValidator {
		search.schema = schema
		return search
	}
	errs := append(validate(&library), v.matching.errors(path)...)
	if search.incomplete {
		errs = append(errs, &field.Error{Type: field.ErrorTypeTooMany, BadValue: maxErrors,
			Detail: "there are more errors; correct these to see the others"})
	}
	return errs
}

// keyedLists returns the part of a schema that leads to lists of type set and map, nil if there are none. The library
// copies the schema of every field on its way. See docs/upstream.md, "listtype copies the schema of every field".
func keyedLists(s *structuralschema.Structural) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	part := &structuralschema.Structural{Items: keyedLists(s.Items)}
	if s.XListType != nil && *s.XListType != "atomic" {
		part.XListType, part.XListMapKeys = s.XListType, s.XListMapKeys
	}
	if s.AdditionalProperties != nil {
		if values := keyedLists(s.AdditionalProperties.Structural); values != nil {
			part.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: values}
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if kept := keyedLists(&property); kept != nil {
			if part.Properties == nil {
				part.Properties = map[string]structuralschema.Structural{}
			}
			part.Properties[name] = *kept
		}
	}
	if part.XListType == nil && part.Items == nil && part.AdditionalProperties == nil && part.Properties == nil {
		return nil
	}
	return part
}
