package validation

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
