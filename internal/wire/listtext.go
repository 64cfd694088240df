package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// AppendHead appends what comes before the items.
func (l List) AppendHead(dst []byte) []byte {
	p := printer{dst: dst, pretty: l.Pretty}
	p.open('{')
	if l.Typed {
		p.member("kind", l.Kind)
		p.member("apiVersion", l.APIVersion)
		l.metadata(&p)
	} else {
		p.member("apiVersion", l.APIVersion)
	}
	p.name("items")
	p.open('[')
	return p.dst
}

// AppendTail appends what follows the items; filled says that there are any. The compact form ends with a newline, the
// indented one does not.
func (l List) AppendTail(dst []byte, filled bool) []byte {
	p := printer{dst: dst, pretty: l.Pretty, depth: itemDepth, filled: filled}
	p.close(']')
	if !l.Typed {
		p.member("kind", l.Kind)
		l.metadata(&p)
	}
	p.close('}')
	if !l.Pretty {
		p.text("\n")
	}
	return p.dst
}

// itemDepth is how deep items are within a list.
const itemDepth = 2

func (l List) metadata(p *printer) {
	p.name("metadata")
	p.open('{')
	if l.Typed {
		p.member("resourceVersion", l.ResourceVersion)
	}
	if !l.Typed || l.Continue != "" {
		p.member("continue", l.Continue)
	}
	if l.RemainingItemCount != nil {
		p.name("remainingItemCount")
		p.dst = strconv.AppendInt(p.dst, *l.RemainingItemCount, 10)
	}
	if !l.Typed {
		p.member("resourceVersion", l.ResourceVersion)
	}
	p.close('}')
}

// cut returns the members that items are written without.
func (l List) cut() []byte {
	if !l.Typed {
		return nil
	}
	return fmt.Appendf(nil, `"kind":%q,"apiVersion":%q,`, l.ItemKind, l.APIVersion)
}

// appendItem appends an item without the members in cut; filled says that it is not the first one.
func (l List) appendItem(dst []byte, o Object, cut []byte, filled bool) ([]byte, error) {
	p := printer{dst: dst, pretty: l.Pretty, depth: itemDepth, filled: filled}
	p.element()
	if !l.Pretty {
		return o.appendWithout(p.dst, cut), nil
	}
	buffer := pieces.Get().(*[]byte)
	compact := o.appendWithout((*buffer)[:0], cut)
	defer giveBack(buffer, compact)
	indented := bytes.NewBuffer(p.dst)
	if err := json.Indent(indented, compact, p.margin(), indent); err != nil {
		return p.dst, fmt.Errorf("indenting object: %w", err)
	}
	return indented.Bytes(), nil
}

// printer appends JSON members in order, compact or indented.
type printer struct {
	dst    []byte
	pretty bool
	depth  int
	filled bool // the innermost object has members
}

func (p *printer) text(s string) { p.dst = append(p.dst, s...) }

func (p *printer) open(brace byte) {
	p.dst = append(p.dst, brace)
	p.depth++
	p.filled = false
}

func (p *printer) close(brace byte) {
	p.depth--
	if p.filled {
		p.lineBreak()
	}
	p.dst = append(p.dst, brace)
	p.filled = true
}

func (p *printer) lineBreak() {
	if p.pretty {
		p.text("\n")
		p.text(p.margin())
	}
}

const margins = "        "

func (p *printer) margin() string { return margins[:p.depth*len(indent)] }

// element begins a member of an object or an element of an array.
func (p *printer) element() {
	if p.filled {
		p.text(",")
	}
	p.lineBreak()
	p.filled = true
}

func (p *printer) name(name string) {
	p.element()
	p.text(`"`)
	p.text(name)
	if p.pretty {
		p.text(`": `)
	} else {
		p.text(`":`)
	}
}

func (p *printer) member(name, value string) {
	p.name(name)
	encoded, _ := json.Marshal(value) // a string cannot fail
	p.dst = append(p.dst, encoded...)
}
