package objectjson

import (
	"bytes"
	"fmt"
)

// A decoded object takes many times the memory of a short text: {"a":1} takes 350 bytes, and a YAML node 400. These
// limits are several times higher than what the largest known objects have.
const (
	// maxDepth is how deep objects and lists may be nested.
	maxDepth = 1000
	// parserDepth is how deep the parsers of JSON and YAML go. They refuse more, with messages of their own.
	parserDepth = 10_000
	// maxObjects is how many JSON objects a document may contain.
	maxObjects = 50_000
	// maxLists is how many lists a document may contain.
	maxLists = 250_000
	// maxYAMLMarks is how many marks a YAML document may have that begin or end a node.
	maxYAMLMarks = 200_000
)

var (
	errTooDeep        = fmt.Errorf("objects and lists may be nested %d levels deep", maxDepth)
	errTooManyObjects = fmt.Errorf("at most %d JSON objects are allowed in one object", maxObjects)
	errTooManyLists   = fmt.Errorf("at most %d lists are allowed in one object", maxLists)
	errTooMuchYAML    = fmt.Errorf(
		"YAML may have %d lines, colons, commas, dashes and brackets; use JSON for more", maxYAMLMarks)
)

// Shape describes a JSON document.
type Shape struct {
	// Depth is how deep objects and lists are nested.
	Depth int
	// Objects and Lists are how many there are, Commas how many separate their members and items.
	Objects, Lists, Commas int
	// Levels is the sum of the levels of all of these. ShapeOf sets it.
	Levels int
}

// Bytes that the YAML library takes for a list or object, and for any other value.
const (
	yamlCollection = 800
	yamlValue      = 600
)

// YAMLMemory returns how many bytes of memory it takes to write a JSON document of so many bytes as YAML. The library
// makes a node for each value, and indents each value by its level.
func (s Shape) YAMLMemory(size int) int64 {
	const copies, indent = 3, 2 // the text grows in a buffer
	return int64(yamlCollection*(s.Objects+s.Lists) + yamlValue*s.Commas + copies*(size+indent*s.Levels))
}

// exceeded returns an error that names the limit that a shape exceeds.
func (s Shape) exceeded() error {
	switch {
	case s.Depth > parserDepth:
		return nil
	case s.Depth > maxDepth:
		return errTooDeep
	case s.Objects > maxObjects:
		return errTooManyObjects
	case s.Lists > maxLists:
		return errTooManyLists
	}
	return nil
}

// CheckJSON returns an error that names the limit if a JSON document is nested too deep, or contains too many objects
// or lists. It leaves documents that are malformed, or deeper than parsers go, to the parser.
func CheckJSON(document []byte) error {
	if bytes.Count(document, []byte("{"))+bytes.Count(document, []byte("[")) <= maxDepth {
		return nil // whatever is in its strings
	}
	return ShapeOf(document).exceeded()
}

// ShapeOf returns the shape of a JSON document.
func ShapeOf(document []byte) (s Shape) {
	depth := 0
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '"':
			i = stringEnd(document, i+1)
		case '{':
			s.Objects++
			depth++
			s.Levels += depth
		case '[':
			s.Lists++
			depth++
			s.Levels += depth
		case '}', ']':
			depth--
		case ',':
			s.Commas++
			s.Levels += depth
		}
		s.Depth = max(s.Depth, depth)
	}
	return s
}

// stringEnd returns the position of the quote that ends a string.
func stringEnd(document []byte, i int) int {
	for ; i < len(document) && document[i] != '"'; i++ {
		if document[i] == '\\' {
			i++
		}
	}
	return i
}

// CheckYAML returns an error that names the limit if a YAML document may have too many nodes. CheckValue has to follow
// when the document is decoded.
func CheckYAML(document []byte) error {
	marks := 0
	for _, mark := range []string{"\n", ":", ",", "[", "{", "- ", "? "} {
		marks += bytes.Count(document, []byte(mark))
	}
	if marks > maxYAMLMarks {
		return errTooMuchYAML
	}
	return nil
}

// CheckValue is CheckJSON for a decoded document.
func CheckValue(value any) error {
	var s Shape
	s.add(value, 0)
	return s.exceeded()
}

// add adds a value at a depth, and the values inside it unless they are too deep.
func (s *Shape) add(value any, depth int) {
	if s.Depth = max(s.Depth, depth); depth > maxDepth {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		s.Objects++
		s.Depth = max(s.Depth, depth+1)
		for _, member := range value {
			s.add(member, depth+1)
		}
	case []any:
		s.Lists++
		s.Depth = max(s.Depth, depth+1)
		for _, item := range value {
			s.add(item, depth+1)
		}
	}
}
