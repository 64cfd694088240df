package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// census is what is asked of all nodes of a schema.
type census struct {
	// nodes are those of the schema, status those below status; rules are the CEL expressions.
	nodes, status, rules int64
	// embedded says that there are embedded resources, unknownTypes that a type is none of OpenAPI's.
	embedded, unknownTypes bool
}

// count counts the nodes of a schema once; it has been compiled.
func (v *Version) count() census {
	c, _ := v.census.get(func() (census, error) {
		s := v.structural.peek().value
		if s == nil {
			return census{}, nil
		}
		c := countNodes(s)
		if status, ok := s.Properties["status"]; ok && v.HasStatus() {
			c.status = countNodes(&status).nodes
		}
		return c, nil
	})
	return c
}

func countNodes(s *structuralschema.Structural) (c census) {
	c.add(*s)
	return c
}

// add counts a node and all below it. It takes values: with pointers each property would escape to the heap, as it does in the library's
// visitor.
func (c *census) add(s structuralschema.Structural) {
	c.nodes++
	c.rules += int64(len(s.XValidations))
	c.embedded = c.embedded || s.XEmbeddedResource
	switch s.Type {
	case "", "array", "boolean", "integer", "number", "object", "string":
	default:
		c.unknownTypes = true
	}
	if s.Items != nil {
		c.add(*s.Items)
	}
	for name := range s.Properties {
		c.add(s.Properties[name])
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		c.add(*s.AdditionalProperties.Structural)
	}
}
