package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an object as it is served.
type Object struct {
	// Bytes are JSON without the resourceVersion, which belongs at offset At (objectjson.MarshalObject), or protobuf with
	// an empty one (ProtobufVersion). They are shared and must not be modified.
	Bytes    []byte
	At       int
	Revision int64
	// Protobuf is the kind that answers in protobuf name. It is nil for JSON, and in lists, which name their own kind.
	Protobuf *runtime.TypeMeta
}

// MediaType returns the media type of the answer that has this object alone.
func (o Object) MediaType() string {
	if o.Protobuf != nil {
		return runtime.ContentTypeProtobuf
	}
	return JSON
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

// texts returns the answer that has this object alone, in pieces. The object is not copied.
func (o Object) texts() [][]byte {
	if o.Protobuf != nil {
		return o.protobufTexts()
	}
	revision := fmt.Appendf(nil, "%s%d%s", revisionOpen, o.Revision, revisionClose)
	return [][]byte{o.Bytes[:o.At], revision, bytes.TrimSuffix(o.Bytes[o.At:], newline), newline}
}

// Encode appends the answer that has this object alone: JSON with a newline, or indented and without one, as runtime's
// encoders write it. Protobuf cannot be pretty.
func (o Object) Encode(dst []byte, pretty bool) []byte {
	if o.Protobuf != nil {
		for _, text := range o.protobufTexts() {
			dst = append(dst, text...)
		}
		return dst
	}
	start := len(dst)
	dst = o.Append(dst)
	var indented bytes.Buffer
	if !pretty || json.Indent(&indented, dst[start:], "", indent) != nil { // which fails only if it is no JSON
		return append(dst, '\n')
	}
	return append(dst[:start], indented.Bytes()...)
}

const indent = "  "

var newline = []byte{'\n'}
