package validation

// What the parts of a node hold, in bytes.
const (
	bytesNode     = 80
	bytesKeywords = 48
	bytesObject   = 128
	bytesChild    = 48
	bytesPattern  = 4 << 10
)

// bytes says about how much memory the nodes hold that have been compiled so far, n and those below.
func (n *node) bytes() int64 {
	if n == nil {
		return 0
	}
	bytes := int64(bytesNode)
	if n.text != nil || n.number != nil || n.enum != nil {
		bytes += bytesKeywords
	}
	if n.text != nil && n.text.compiled.peek() != nil {
		bytes += bytesPattern
	}
	if n.list != nil {
		bytes += bytesKeywords + n.list.items.bytes()
	}
	if n.object != nil {
		bytes += bytesObject + n.object.additional.bytes()
		for _, property := range n.object.properties.compiled {
			bytes += bytesChild + property.Load().bytes()
		}
	}
	if n.logic != nil {
		bytes += bytesKeywords + n.logic.not.bytes()
		for _, branches := range [][]*node{n.logic.allOf, n.logic.anyOf, n.logic.oneOf} {
			for _, branch := range branches {
				bytes += branch.bytes()
			}
		}
	}
	return bytes
}

func (c *child) bytes() int64 {
	if c == nil {
		return 0
	}
	return bytesKeywords + c.compiled.Load().bytes()
}
