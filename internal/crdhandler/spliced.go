package crdhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// revisionMark stands for the resourceVersion while an object is encoded, so that its place in the bytes is
// known without parsing them. It is drawn anew by each process: no client can put it into an object.
var revisionMark = "revision-" + string(uuid.NewUUID())

var (
	revisionMember = []byte(`"resourceVersion":"` + revisionMark + `",`)
	leadingMember  = []byte(`"":"` + revisionMark + `",`)
)

// errNoMetadata says that an object has nothing beside which a resourceVersion could stand.
var errNoMetadata = errors.New("object has no metadata")

// encodeSpliced returns the JSON of an object without its resourceVersion, followed by a newline as upstream stores
// it, and the offset at which the resourceVersion belongs. obj is not modified.
func encodeSpliced(obj map[string]any) (value []byte, at int, err error) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, 0, errNoMetadata
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "selfLink")
	delete(metadata, "resourceVersion")
	member := leadingMember
	if _, ok := metadata["uid"]; ok {
		member = revisionMember
		metadata["resourceVersion"] = revisionMark
	} else {
		metadata[""] = revisionMark
	}
	obj = maps.Clone(obj)
	obj["metadata"] = metadata

	pooled := objectBuffers.Get().(*[]byte)
	defer objectBuffers.Put(pooled)
	buffer := bytes.NewBuffer((*pooled)[:0])
	if err := json.NewEncoder(buffer).Encode(obj); err != nil {
		return nil, 0, fmt.Errorf("encoding object: %w", err)
	}
	if buffer.Cap() <= maxPooledObject {
		*pooled = buffer.Bytes()
	}
	value, at, err = cutMember(buffer.Bytes(), member)
	return bytes.Clone(value), at, err // it is kept: no byte more than it needs
}

// cutMember removes a marked member from JSON, in place, and returns where it was.
func cutMember(encoded, member []byte) (value []byte, at int, err error) {
	at = bytes.Index(encoded, member)
	if at < 0 {
		return nil, 0, errNoMetadata
	}
	return append(encoded[:at], encoded[at+len(member):]...), at, nil
}
