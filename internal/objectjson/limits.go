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
	// maxObjects is how many JSON objects a document may contain.
	maxObjects = 100_000
	// maxYAMLMarks is how many marks a YAML document may have that begin or end a node.
	maxYAMLMarks = 200_000
)

var (
	errTooDeep        = fmt.Errorf("objects and lists may be nested %d levels deep", maxDepth)
	errTooManyObjects = fmt.Errorf("at most %d JSON objects are allowed in one object", maxObjects)
	errTooMuchYAML    = fmt.Errorf("YAML may have %d lines, colons, commas, dashes and brackets; use JSON for more", maxYAMLMarks)
)

// CheckJSON returns an error that names the limit if a JSON document is nested too deep, or contains too many objects.
// The document need not be well-formed.
func CheckJSON(document []byte) error {
	objects := bytes.Count(document, []byte("{"))
	if objects <= maxObjects && objects+bytes.Count(document, []byte("[")) <= maxDepth {
		return nil // whatever is in its strings
	}
	s := scan(document)
	return exceeded(s.depth, s.objects)
}

func exceeded(depth, objects int) error {
	switch {
	case depth > maxDepth:
		return errTooDeep
	case objects > maxObjects:
		return errTooManyObjects
	}
	return nil
}

// Depth returns how deep objects and lists are nested in a JSON document.
func Depth(document []byte) int { return scan(document).depth }

// shape describes a JSON document.
type shape struct{ depth, objects int }

func scan(document []byte) (s shape) {
	depth := 0
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '"':
			i = stringEnd(document, i+1)
		case '{':
			s.objects++
			depth++
		case '[':
			depth++
		case '}', ']':
			depth--
		}
		s.depth = max(s.depth, depth)
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
	depth, objects := measure(value, 0)
	return exceeded(depth, objects)
}

// measure returns the depth of a value that is nested in others, and how many objects it contains. It stops at values
// that are too deep.
func measure(value any, outside int) (depth, objects int) {
	if depth = outside; depth > maxDepth {
		return depth, 0
	}
	add := func(inner any) {
		innerDepth, innerObjects := measure(inner, outside+1)
		depth, objects = max(depth, innerDepth), objects+innerObjects
	}
	switch value := value.(type) {
	case map[string]any:
		depth, objects = outside+1, 1
		for _, member := range value {
			add(member)
		}
	case []any:
		depth = outside + 1
		for _, item := range value {
			add(item)
		}
	}
	return depth, objects
}
