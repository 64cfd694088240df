package wire

import (
	"bytes"
	"encoding/json"
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

// Encode appends the answer that has this object alone: JSON with a newline, or indented and without one, as runtime's
// encoders write it. Protobuf cannot be pretty.
func (o Object) Encode(dst []byte, pretty bool) []byte {
	if o.Protobuf != nil {
		head, tail := envelope(*o.Protobuf, o.protobufSize())
		return append(o.appendProtobuf(append(dst, head...)), tail...)
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

// AppendEvent appends the frame of a watch event about an object, in the object's format.
func AppendEvent(dst []byte, eventType string, o Object) []byte {
	if o.Protobuf != nil {
		return appendProtobufEvent(dst, eventType, o)
	}
	dst = appendEventHead(dst, eventType)
	dst = o.Append(dst)
	return append(dst, eventTail...)
}

// AppendRawEvent appends the JSON frame of a watch event about an object that is JSON already.
func AppendRawEvent(dst []byte, eventType string, object []byte) []byte {
	dst = appendEventHead(dst, eventType)
	dst = append(dst, bytes.TrimSuffix(object, newline)...)
	return append(dst, eventTail...)
}

const eventTail = "}\n"

func appendEventHead(dst []byte, eventType string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, eventType...)
	return append(dst, `","object":`...)
}
