package crdhandler

import (
	"bytes"
	"errors"
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
	e := encoders.Get().(*jsonEncoder)
	defer e.release()
	e.out = append(e.out, '{')
	for _, name := range e.sorted(obj) {
		if name == "metadata" {
			at, err = e.metadata(metadata)
		} else {
			err = e.member(name, obj[name])
		}
		if err != nil {
			return nil, 0, err
		}
	}
	e.out = append(e.out, "}\n"...)
	return bytes.Clone(e.out), at, nil // it is kept: no byte more than it needs
}

// metadata writes the member metadata of an object, and returns where the resourceVersion belongs: at its place by name, or at the
// beginning of what has no uid, for then nothing is sure to follow it.
func (e *jsonEncoder) metadata(metadata map[string]any) (at int, err error) {
	e.out = append(e.separated(), `"metadata":{`...)
	if _, ok := metadata["uid"]; !ok {
		at = len(e.out)
	}
	empty := len(e.out)
	base := len(e.names)
	for _, name := range e.sorted(metadata) {
		if name == "selfLink" || name == "resourceVersion" {
			continue
		}
		if at == 0 && name > "resourceVersion" {
			at = len(e.separated())
		}
		if err := e.member(name, metadata[name]); err != nil {
			return 0, err
		}
	}
	if len(e.out) == empty {
		return 0, errNoMetadata
	}
	e.names = e.names[:base]
	e.out = append(e.out, '}')
	return at, nil
}
