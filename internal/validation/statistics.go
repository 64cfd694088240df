package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// schemaStatistics describes the nodes of a structural schema.
type schemaStatistics struct {
	// nodes counts all nodes, status those of the status; rules counts the CEL rules.
	nodes, status, rules int64
	// embedded means that there are embedded resources.
	embedded bool
	// unknownTypes means that a type is not one of OpenAPI.
	unknownTypes bool
	// defaulted are the top-level fields with a default.
	defaulted []string
}

// statistics returns the statistics of the structural schema, which must have been compiled.
func (v *Version) statistics() schemaStatistics {
	stats, _ := v.stats.get(func() (schemaStatistics, error) {
		var stats schemaStatistics
		s := v.structural.peek().value
		if s == nil {
			return stats, nil
		}
		stats.add(*s)
		for name := range s.Properties {
			if property := s.Properties[name]; property.Default.Object != nil {
				stats.defaulted = append(stats.defaulted, name)
			}
		}
		if status, ok := s.Properties["status"]; ok && v.HasStatus() {
			var below schemaStatistics
			below.add(status)
			stats.status = below.nodes
		}
		return stats, nil
	})
	return stats
}

// add counts a node and all nodes below it. It takes a value because a pointer would move every property to the heap.
func (c *schemaStatistics) add(s structuralschema.Structural) {
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
