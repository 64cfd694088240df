package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// logicCheck holds allOf, anyOf, oneOf and not: other schemas for the same value.
type logicCheck struct {
	allOf, anyOf, oneOf []*node
	not                 *node
}

func (c *logicCheck) check(v *visit, value any) verdict {
	for _, branch := range c.allOf {
		if found := branch.check(v, value); found != valid {
			return found
		}
	}
	if found := checkAnyOf(v, c.anyOf, value); found != valid {
		return found
	}
	if found := checkOneOf(v, c.oneOf, value); found != valid {
		return found
	}
	if c.not == nil {
		return valid
	}
	switch c.not.check(v, value) {
	case valid:
		return invalid
	case invalid:
		return valid
	}
	return unknown
}

func checkAnyOf(v *visit, branches []*node, value any) verdict {
	if len(branches) == 0 {
		return valid
	}
	all := invalid
	for _, branch := range branches {
		switch branch.check(v, value) {
		case valid:
			return valid
		case unknown:
			all = unknown
		}
	}
	return all
}

func checkOneOf(v *visit, branches []*node, value any) verdict {
	if len(branches) == 0 {
		return valid
	}
	matches := 0
	for _, branch := range branches {
		switch branch.check(v, value) {
		case valid:
			matches++
		case unknown:
			return unknown
		}
	}
	return verdictOf(matches == 1)
}

func (n *node) compileLogic(values *structuralschema.ValueValidation) {
	if len(values.AllOf) == 0 && len(values.AnyOf) == 0 && len(values.OneOf) == 0 && values.Not == nil {
		return
	}
	n.logic = &logicCheck{allOf: compileBranches(values.AllOf), anyOf: compileBranches(values.AnyOf),
		oneOf: compileBranches(values.OneOf)}
	if values.Not != nil {
		n.logic.not = compileNode(branch(values.Not))
	}
}

func compileBranches(sources []structuralschema.NestedValueValidation) []*node {
	if len(sources) == 0 {
		return nil
	}
	nodes := make([]*node, len(sources))
	for i := range sources {
		nodes[i] = compileNode(branch(&sources[i]))
	}
	return nodes
}

// branch returns a schema inside allOf, anyOf, oneOf or not as a structural schema.
func branch(nested *structuralschema.NestedValueValidation) *structuralschema.Structural {
	s := &structuralschema.Structural{
		Generic:         nested.ForbiddenGenerics,
		Extensions:      nested.ForbiddenExtensions,
		ValueValidation: &nested.ValueValidation,
	}
	if nested.Items != nil {
		s.Items = branch(nested.Items)
	}
	if nested.AdditionalProperties != nil {
		s.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: branch(nested.AdditionalProperties),
			Bool: true}
	}
	if nested.Properties != nil {
		s.Properties = make(map[string]structuralschema.Structural, len(nested.Properties))
		for name := range nested.Properties {
			property := nested.Properties[name]
			s.Properties[name] = *branch(&property)
		}
	}
	return s
}
