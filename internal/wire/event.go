package wire

import "bytes"

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
