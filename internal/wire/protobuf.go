package wire

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Numbers of fields. The metadata is the first field of all objects and lists, and the items are the second of lists.
const (
	metadataField        protowire.Number = 1
	itemsField           protowire.Number = 2
	resourceVersionField protowire.Number = 6
)

// ProtobufVersion returns the offset at which Object inserts the resourceVersion into the protobuf of an object without
// one. It is that of the length of the field, which Kubernetes' types encode although it is empty.
func ProtobufVersion(object []byte) (at int, err error) {
	metadata := fieldOffset(object, metadataField)
	if metadata != metadataOffset {
		return 0, errors.New("protobuf does not begin with metadata")
	}
	fields, n := protowire.ConsumeBytes(object[metadata:])
	if n < 0 {
		return 0, protowire.ParseError(n)
	}
	version := fieldOffset(fields, resourceVersionField)
	if version < 0 || fields[version] != 0 {
		return 0, errors.New("protobuf has no empty resourceVersion")
	}
	return metadata + n - len(fields) + version, nil
}

// metadataOffset is the offset of the length of an object's metadata. The tag is before it.
const metadataOffset = 1

// fieldOffset returns the offset of the length of a field in a message; -1 if the message does not have the field.
func fieldOffset(message []byte, field protowire.Number) int {
	for at := 0; at < len(message); {
		number, kind, n := protowire.ConsumeTag(message[at:])
		if n < 0 {
			break
		}
		at += n
		if n = protowire.ConsumeFieldValue(number, kind, message[at:]); n < 0 {
			break
		}
		if number == field && kind == protowire.BytesType {
			return at
		}
		at += n
	}
	return -1
}

// protobufSize returns the number of bytes of the protobuf of an object.
func (o Object) protobufSize() int {
	metadata, n := protowire.ConsumeVarint(o.Bytes[metadataOffset:])
	var digits [maxDigits]byte
	version := len(strconv.AppendInt(digits[:0], o.Revision, 10))
	return len(o.Bytes) - n + protowire.SizeVarint(metadata+uint64(version)) + version
}

// maxDigits is the number of digits of the largest revision.
const maxDigits = 19

// appendProtobufHead appends the protobuf of an object up to the end of its resourceVersion, which makes the metadata
// longer. protobufRest is what follows.
func (o Object) appendProtobufHead(dst []byte) []byte {
	metadata, n := protowire.ConsumeVarint(o.Bytes[metadataOffset:])
	var digits [maxDigits]byte
	version := strconv.AppendInt(digits[:0], o.Revision, 10)
	dst = append(dst, o.Bytes[:metadataOffset]...)
	dst = protowire.AppendVarint(dst, metadata+uint64(len(version)))
	dst = append(dst, o.Bytes[metadataOffset+n:o.At]...)
	return protowire.AppendBytes(dst, version)
}

func (o Object) protobufRest() []byte { return o.Bytes[o.At+1:] }

// appendProtobuf appends the protobuf of an object.
func (o Object) appendProtobuf(dst []byte) []byte {
	return append(o.appendProtobufHead(dst), o.protobufRest()...)
}

// envelope returns the bytes before and after an object or a list in an answer in protobuf: the prefix by which clients
// recognize Kubernetes' protobuf, and a runtime.Unknown with the kind. size is the number of bytes of the object or
// list.
func envelope(kind runtime.TypeMeta, size int) (head, tail []byte) {
	around, at := bytes.NewBufferString("k8s\x00"), 0
	unknown := runtime.Unknown{TypeMeta: kind}
	// Writing to memory cannot fail.
	_, _ = unknown.MarshalToWriter(around, size, func(io.Writer) (int, error) {
		at = around.Len()
		return size, nil
	})
	return slices.Clip(around.Bytes()[:at]), around.Bytes()[at:]
}

// protobufTexts is texts for an object in protobuf.
func (o Object) protobufTexts() [][]byte {
	head, tail := envelope(*o.Protobuf, o.protobufSize())
	return [][]byte{o.appendProtobufHead(head), o.protobufRest(), tail}
}

// appendProtobufEvent appends the frame of a watch event about an object in protobuf: a metav1.WatchEvent with the
// answer that has the object alone, in a RawExtension.
func appendProtobufEvent(dst []byte, eventType string, o Object) []byte {
	const typeField, objectField, rawField protowire.Number = 1, 2, 1
	object := o.protobufSize()
	head, tail := envelope(*o.Protobuf, object)
	size := len(head) + object + len(tail)
	dst = protowire.AppendTag(dst, typeField, protowire.BytesType)
	dst = protowire.AppendString(dst, eventType)
	dst = protowire.AppendTag(dst, objectField, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(rawField)+protowire.SizeBytes(size)))
	dst = protowire.AppendTag(dst, rawField, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	dst = o.appendProtobuf(append(dst, head...))
	return append(dst, tail...)
}

// appendProtobufItem appends an item of a list in protobuf.
func (o Object) appendProtobufItem(dst []byte) []byte {
	dst = protowire.AppendTag(dst, itemsField, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(o.protobufSize()))
	return o.appendProtobuf(dst)
}

// ProtobufItems returns the number of bytes of the items of a list in protobuf.
func ProtobufItems(items iter.Seq[Object]) (size int) {
	for item := range items {
		size += protowire.SizeTag(itemsField) + protowire.SizeBytes(item.protobufSize())
	}
	return size
}

// aroundProtobuf is around for a list in protobuf.
func (l List) aroundProtobuf() (head, tail []byte) {
	listMeta := metav1.ListMeta{
		ResourceVersion: l.ResourceVersion, Continue: l.Continue, RemainingItemCount: l.RemainingItemCount,
	}
	encoded, _ := listMeta.Marshal() // does not fail
	metadata := protowire.AppendTag(nil, metadataField, protowire.BytesType)
	metadata = protowire.AppendBytes(metadata, encoded)
	head, tail = envelope(runtime.TypeMeta{APIVersion: l.APIVersion, Kind: l.Kind}, len(metadata)+l.ItemsSize)
	return append(head, metadata...), tail
}
