//go:build !library

package objectjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// encoder writes what JSON is decoded into (maps, slices, strings, integers, booleans, nil) as encoding/json does,
// byte for byte. It leaves floats, strings that need an unusual escape and other types to the library.
// See docs/upstream.md, "Reflection for unstructured objects".
type encoder struct {
	out []byte
	// names is a stack of the names of the members of every object that is being written.
	names []string
}

// encoders keep their buffers from one object to the next.
var encoders = sync.Pool{New: func() any { return &encoder{} }}

// maxPooled keeps buffers that a very large object has grown from being held for small ones.
const maxPooled = 64 << 10

// release returns e to the pool, unless a very large object has grown it.
func (e *encoder) release() {
	if cap(e.out) > maxPooled {
		return
	}
	clear(e.names[:cap(e.names)])
	e.out, e.names = e.out[:0], e.names[:0]
	encoders.Put(e)
}

// Marshal returns what json.Marshal returns.
func Marshal(value any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.value(value); err != nil {
		return nil, err
	}
	return bytes.Clone(e.out), nil
}

func (e *encoder) value(value any) error {
	switch v := value.(type) {
	case map[string]any:
		if v != nil {
			return e.object(v)
		}
	case []any:
		if v != nil {
			return e.array(v)
		}
	case string:
		return e.string(v)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
		return nil
	case bool:
		e.out = strconv.AppendBool(e.out, v)
		return nil
	case nil:
		e.out = append(e.out, "null"...)
		return nil
	}
	return e.other(value)
}

func (e *encoder) object(members map[string]any) error {
	e.out = append(e.out, '{')
	base := len(e.names)
	for _, name := range e.sorted(members) {
		if err := e.member(name, members[name]); err != nil {
			return err
		}
	}
	e.names = e.names[:base]
	e.out = append(e.out, '}')
	return nil
}

// sorted pushes the names of members onto the stack and returns them. The caller pops them.
func (e *encoder) sorted(members map[string]any) []string {
	base := len(e.names)
	for name := range members {
		e.names = append(e.names, name)
	}
	names := e.names[base:]
	slices.Sort(names)
	return names
}

// member writes a member of the object that was opened last.
func (e *encoder) member(name string, value any) error {
	e.out = e.separated()
	if err := e.string(name); err != nil {
		return err
	}
	e.out = append(e.out, ':')
	return e.value(value)
}

// separated returns the output, with a comma unless the next member is the first one.
func (e *encoder) separated() []byte {
	if e.out[len(e.out)-1] == '{' {
		return e.out
	}
	return append(e.out, ',')
}

func (e *encoder) array(items []any) error {
	e.out = append(e.out, '[')
	for i, item := range items {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(item); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) string(text string) error {
	quotes, usual := quotesIn(text)
	if !usual {
		return e.other(text)
	}
	e.out = append(e.out, '"')
	if quotes == 0 {
		e.out = append(e.out, text...)
	} else {
		for i := range len(text) {
			if isQuote(text[i]) {
				e.out = append(e.out, '\\')
			}
			e.out = append(e.out, text[i])
		}
	}
	e.out = append(e.out, '"')
	return nil
}

// other encodes a value with the library.
func (e *encoder) other(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	e.out = append(e.out, text...)
	return nil
}

// quotesIn counts the characters of a string that JSON escapes with a backslash alone; the keys of lists in managed
// fields have many. usual is false if text has other characters that need an escape, or any that is not ASCII, which
// may be invalid.
func quotesIn(text string) (quotes int, usual bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&':
			return 0, false
		case isQuote(c):
			quotes++
		}
	}
	return quotes, true
}

func isQuote(c byte) bool { return c == '"' || c == '\\' }

func marshalObject(obj, metadata map[string]any) (value []byte, at int, err error) {
	e := encoders.Get().(*encoder)
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
	return bytes.Clone(e.out), at, nil // the cache keeps it, without spare capacity
}

// metadata writes the metadata of an object and returns the offset of the resourceVersion.
func (e *encoder) metadata(metadata map[string]any) (at int, err error) {
	e.out = append(e.separated(), `"metadata":{`...)
	if _, ok := metadata["uid"]; !ok {
		at = len(e.out)
	}
	base := len(e.names)
	for _, name := range e.sorted(metadata) {
		if omitted(name) {
			continue
		}
		if at == 0 && name > "resourceVersion" {
			at = len(e.separated())
		}
		if err := e.member(name, metadata[name]); err != nil {
			return 0, err
		}
	}
	e.names = e.names[:base]
	e.out = append(e.out, '}')
	return at, nil
}
