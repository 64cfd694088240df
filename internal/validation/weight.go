package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// What compiled parts hold, in bytes, by node of the schema, but for rules: a program is of about the same size whatever
// it says. TestBytes holds these figures against real schemas.
const (
	bytesStructural = 550
	bytesKeyed      = 20
	bytesValidator  = 700
	bytesTypes      = 160
	bytesRule       = 20 << 10
	bytesRuleNode   = 250
	bytesSet        = 4 << 10
)

// Bytes says about how much memory the parts hold that have been compiled so far.
func (s *Set) Bytes() int64 {
	bytes := int64(bytesSet)
	for _, v := range s.versions {
		bytes += v.bytes()
	}
	return bytes
}

func (v *Version) bytes() (bytes int64) {
	if v.structural.peek() == nil {
		return 0 // all else is made of it, but for validators: these follow at once
	}
	c := v.count()
	bytes = c.nodes * bytesStructural
	if root := v.nodes.peek(); root != nil {
		bytes += root.value.bytes()
	}
	if v.keyedLists.peek() != nil {
		bytes += c.nodes * bytesKeyed
	}
	if v.objectSchema.peek() != nil {
		bytes += c.nodes * bytesValidator
	}
	if v.statusSchema.peek() != nil {
		bytes += c.status * bytesValidator
	}
	if v.celValidator.peek() != nil && c.rules > 0 {
		bytes += c.rules*bytesRule + c.nodes*bytesRuleNode
	}
	if v.parseableType.peek() != nil {
		bytes += c.nodes * bytesTypes
	}
	return bytes
}

// census is what weights depend on, and what else is asked of all nodes.
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

// add counts a node and all below it. It takes values because of pointers to properties the compiler would have each escape; the library's
// visitor does that.
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
