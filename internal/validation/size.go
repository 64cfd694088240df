package validation

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
