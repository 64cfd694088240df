package validation

import structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// schemaStatistics describes the nodes of a structural schema.
type schemaStatistics struct {
	// nodes counts all nodes, status those of the status, and branches those in allOf, anyOf, oneOf and not.
	nodes, status, branches int64
	// rules counts the CEL rules, ruleText their bytes, and ruleNodes the nodes below each node that has rules.
	rules, ruleText, ruleNodes int64
	// enum counts the values of enumerations, instructions those of patterns.
	enum, instructions int64
	// embedded means that there are embedded resources.
	embedded bool
	// unknownTypes means that a type is not one of OpenAPI.
	unknownTypes bool
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
		if status, ok := s.Properties["status"]; ok && v.HasStatus() {
			var below schemaStatistics
			below.add(status)
			stats.status = below.nodes
		}
		return stats, nil
	})
	return stats
}

// add counts a node and all nodes below it, and returns their number. It takes a value because a pointer would move
// every property to the heap.
func (c *schemaStatistics) add(s structuralschema.Structural) (nodes int64) {
	c.nodes++
	c.embedded = c.embedded || s.XEmbeddedResource
	switch s.Type {
	case "", "array", "boolean", "integer", "number", "object", "string":
	default:
		c.unknownTypes = true
	}
	c.addValues(s.ValueValidation)
	nodes = 1
	if s.Items != nil {
		nodes += c.add(*s.Items)
	}
	for name := range s.Properties {
		nodes += c.add(s.Properties[name])
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		nodes += c.add(*s.AdditionalProperties.Structural)
	}
	for n := range s.XValidations {
		c.ruleText += int64(len(s.XValidations[n].Rule) + len(s.XValidations[n].MessageExpression))
	}
	if len(s.XValidations) > 0 {
		c.rules += int64(len(s.XValidations))
		c.ruleNodes += nodes
	}
	return nodes
}

// addValues counts enumerations, patterns and branches.
func (c *schemaStatistics) addValues(values *structuralschema.ValueValidation) {
	if values == nil {
		return
	}
	c.enum += int64(len(values.Enum))
	c.instructions += int64(PatternSize(values.Pattern))
	for _, branches := range [][]structuralschema.NestedValueValidation{values.AllOf, values.AnyOf, values.OneOf} {
		for n := range branches {
			c.addBranch(branches[n])
		}
	}
	if values.Not != nil {
		c.addBranch(*values.Not)
	}
}

func (c *schemaStatistics) addBranch(branch structuralschema.NestedValueValidation) {
	c.branches++
	c.addValues(&branch.ValueValidation)
	if branch.Items != nil {
		c.addBranch(*branch.Items)
	}
	for name := range branch.Properties {
		c.addBranch(branch.Properties[name])
	}
	if branch.AdditionalProperties != nil {
		c.addBranch(*branch.AdditionalProperties)
	}
}

// The approximate size of compiled parts in bytes: those of nodes, of rules and of other things. TestBytes compares
// these figures with real schemas.
const (
	bytesStructural  = 650 // with the compiled form of fastSchema
	bytesOpenAPI     = 700
	bytesTypes       = 160
	bytesRule        = 20 << 10
	bytesRuleText    = 64
	bytesRuleNode    = 250 // of all nodes
	bytesRuleType    = 40  // of the nodes below each node with rules
	bytesEnum        = 16
	bytesInstruction = 40
	bytesSet         = 4 << 10
)

// Bytes returns approximately how much memory the parts compiled so far take.
func (s *Set) Bytes() int64 {
	bytes := int64(bytesSet)
	for _, v := range s.versions {
		bytes += v.bytes()
	}
	return bytes
}

func (v *Version) bytes() int64 {
	if v.structural.peek() == nil {
		return 0 // the other parts are compiled after it
	}
	stats := v.statistics()
	bytes := (stats.nodes+stats.branches)*bytesStructural + stats.enum*bytesEnum + stats.instructions*bytesInstruction
	if v.openAPI.peek() != nil {
		bytes += (stats.nodes+stats.branches)*bytesOpenAPI + stats.enum*bytesEnum
	}
	if v.statusOpenAPI.peek() != nil {
		bytes += stats.status * bytesOpenAPI
	}
	if v.celValidator.peek() != nil && stats.rules > 0 {
		bytes += stats.rules*bytesRule + stats.ruleText*bytesRuleText + stats.nodes*bytesRuleNode +
			stats.ruleNodes*bytesRuleType
	}
	if v.parseableType.peek() != nil {
		bytes += stats.nodes * bytesTypes
	}
	return bytes
}
