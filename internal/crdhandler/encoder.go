package crdhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// jsonEncoder writes what JSON is decoded into (maps, slices, strings, integers, booleans, nil) byte for byte as encoding/json
// does, without reflection, and with two buffers for all of it. What is rare (floats, strings that need an escape, other
// types) it leaves to the library.
type jsonEncoder struct {
	out []byte
	// names is a stack: those of the members of every object that is being written.
	names []string
}

// encoders keep their buffers from one object to the next.
var encoders = sync.Pool{New: func() any { return &jsonEncoder{} }}

// release gives e back, unless a very large object has grown it.
func (e *jsonEncoder) release() {
	if cap(e.out) > maxPooledObject {
		return
	}
	clear(e.names[:cap(e.names)])
	e.out, e.names = e.out[:0], e.names[:0]
	encoders.Put(e)
}

// encodeJSON returns what json.Marshal returns.
func encodeJSON(value any) ([]byte, error) {
	e := encoders.Get().(*jsonEncoder)
	defer e.release()
	if err := e.value(value); err != nil {
		return nil, err
	}
	return bytes.Clone(e.out), nil
}

func (e *jsonEncoder) value(value any) error {
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

func (e *jsonEncoder) object(members map[string]any) error {
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

// sorted puts the names of members on the stack, and returns them. The caller takes them off.
func (e *jsonEncoder) sorted(members map[string]any) []string {
	base := len(e.names)
	for name := range members {
		e.names = append(e.names, name)
	}
	names := e.names[base:]
	slices.Sort(names)
	return names
}

// member writes a member of the object that was opened.
func (e *jsonEncoder) member(name string, value any) error {
	if err := e.name(name); err != nil {
		return err
	}
	return e.value(value)
}

// name begins a member of the object that was opened.
func (e *jsonEncoder) name(name string) error {
	e.out = e.separated()
	if err := e.string(name); err != nil {
		return err
	}
	e.out = append(e.out, ':')
	return nil
}

// separated returns what is written, with a comma if a member has been before the next one.
func (e *jsonEncoder) separated() []byte {
	if e.out[len(e.out)-1] == '{' {
		return e.out
	}
	return append(e.out, ',')
}

func (e *jsonEncoder) array(items []any) error {
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

func (e *jsonEncoder) string(text string) error {
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

// other leaves a value to the library.
func (e *jsonEncoder) other(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	e.out = append(e.out, text...)
	return nil
}

// quotesIn counts the characters of a string that JSON has with a backslash before them, as the keys of lists in managed fields
// have. usual is false for strings with anything else that cannot stand as it is, and for all that is not ASCII, which may
// have to be repaired.
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
