package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Object is an object as it is served: JSON without the resourceVersion, which belongs at offset At
// (objectjson.MarshalObject). The bytes are shared and must not be modified.
type Object struct {
	Bytes    []byte
	At       int
	Revision int64
}

const (
	revisionOpen  = `"resourceVersion":"`
	revisionClose = `",`
)

// Append appends the complete JSON of the object to dst, without a newline.
func (o Object) Append(dst []byte) []byte { return o.appendWithout(dst, nil) }

// appendWithout is Append without the members in cut, if the object begins with them.
func (o Object) appendWithout(dst, cut []byte) []byte {
	head, tail := o.Bytes[:o.At], bytes.TrimSuffix(o.Bytes[o.At:], newline)
	if len(cut) > 0 && len(head) > len(cut) && bytes.HasPrefix(head[1:], cut) {
		dst = append(dst, '{')
		head = head[1+len(cut):]
	}
	dst = append(dst, head...)
	dst = append(dst, revisionOpen...)
	dst = strconv.AppendInt(dst, o.Revision, 10)
	dst = append(dst, revisionClose...)
	return append(dst, tail...)
}

// texts returns the complete JSON of the object, with a newline, in pieces that are not copied.
func (o Object) texts() [][]byte {
	revision := fmt.Appendf(nil, "%s%d%s", revisionOpen, o.Revision, revisionClose)
	return [][]byte{o.Bytes[:o.At], revision, bytes.TrimSuffix(o.Bytes[o.At:], newline), newline}
}

// Encode appends the response body that has this object alone: with a newline, or indented and without one, as
// runtime's JSON encoders write it.
func (o Object) Encode(dst []byte, pretty bool) ([]byte, error) {
	start := len(dst)
	dst = o.Append(dst)
	if !pretty {
		return append(dst, '\n'), nil
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, dst[start:], "", indent); err != nil {
		return nil, fmt.Errorf("indenting object: %w", err)
	}
	return append(dst[:start], indented.Bytes()...), nil
}

const indent = "  "

var newline = []byte{'\n'}
