package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
)

// List is a list without its items.
type List struct {
	APIVersion, Kind string
	ResourceVersion  string
	Continue         string
	// RemainingItemCount is nil when it is not known.
	RemainingItemCount *int64
	// Typed writes the list as Go's encoder writes a typed one: metadata before the items, and no kind and
	// apiVersion in the items, which ItemKind names.
	Typed    bool
	ItemKind string
	// Pretty indents.
	Pretty bool
}

// Write writes the list item by item; it is never in memory as a whole. Layout and order of members are those of
// runtime's JSON encoder for unstructured lists or, with Typed, for typed ones.
func (l List) Write(w *bufio.Writer, items iter.Seq[Object]) error {
	if l.Typed {
		return l.writeTyped(w, items)
	}
	p := printer{w: w, pretty: l.Pretty}
	p.open('{')
	p.member("apiVersion", l.APIVersion)
	p.items(items, nil)
	p.member("kind", l.Kind)
	p.name("metadata")
	p.open('{')
	p.member("continue", l.Continue)
	l.writeRemaining(&p)
	p.member("resourceVersion", l.ResourceVersion)
	p.close('}')
	p.close('}')
	return p.end()
}

func (l List) writeTyped(w *bufio.Writer, items iter.Seq[Object]) error {
	p := printer{w: w, pretty: l.Pretty}
	p.open('{')
	p.member("kind", l.Kind)
	p.member("apiVersion", l.APIVersion)
	p.name("metadata")
	p.open('{')
	p.member("resourceVersion", l.ResourceVersion)
	if l.Continue != "" {
		p.member("continue", l.Continue)
	}
	l.writeRemaining(&p)
	p.close('}')
	p.items(items, fmt.Appendf(nil, `"kind":%q,"apiVersion":%q,`, l.ItemKind, l.APIVersion))
	p.close('}')
	return p.end()
}

func (l List) writeRemaining(p *printer) {
	if l.RemainingItemCount != nil {
		p.name("remainingItemCount")
		p.raw(strconv.AppendInt(p.w.AvailableBuffer(), *l.RemainingItemCount, 10))
	}
}

// printer writes JSON members in order, compact or indented.
type printer struct {
	w      *bufio.Writer
	pretty bool
	depth  int
	filled bool // the innermost object has members
	err    error
}

func (p *printer) raw(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (p *printer) text(s string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
}

func (p *printer) open(brace byte) {
	p.raw([]byte{brace})
	p.depth++
	p.filled = false
}

func (p *printer) close(brace byte) {
	p.depth--
	if p.filled {
		p.lineBreak()
	}
	p.raw([]byte{brace})
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
	encoded, err := json.Marshal(value)
	if err != nil && p.err == nil {
		p.err = err
	}
	p.raw(encoded)
}

func (p *printer) items(items iter.Seq[Object], cut []byte) {
	p.name("items")
	p.open('[')
	for item := range items {
		p.element()
		p.object(item, cut)
		if p.err != nil {
			break
		}
	}
	p.close(']')
}

// object writes an object without the members in cut, if it begins with them.
func (p *printer) object(o Object, cut []byte) {
	if p.pretty {
		p.indented(o.Append(nil), cut)
		return
	}
	head := o.JSON[:o.At]
	if begins(head, cut) {
		p.text("{")
		head = head[1+len(cut):]
	}
	p.raw(head)
	p.text(revisionOpen)
	p.raw(strconv.AppendInt(p.w.AvailableBuffer(), o.Revision, 10))
	p.text(revisionClose)
	p.raw(bytes.TrimSuffix(o.JSON[o.At:], newline))
}

func (p *printer) indented(object, cut []byte) {
	if begins(object, cut) {
		object = object[len(cut):]
		object[0] = '{'
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, object, p.margin(), indent); err != nil && p.err == nil {
		p.err = fmt.Errorf("indenting object: %w", err)
	}
	p.raw(indented.Bytes())
}

func begins(object, members []byte) bool {
	return len(members) > 0 && len(object) > len(members) && bytes.HasPrefix(object[1:], members)
}

// end finishes the document: the compact form ends with a newline, the indented one does not.
func (p *printer) end() error {
	if !p.pretty {
		p.text("\n")
	}
	if p.err != nil {
		return fmt.Errorf("writing list: %w", p.err)
	}
	return nil
}
