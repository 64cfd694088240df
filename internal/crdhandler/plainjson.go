package crdhandler

import (
	"unicode"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// readPlainJSON reads an object that is written in JSON and which YAML reads the same way. The patches of server-side
// apply are YAML, and almost all clients send JSON in them; reading that as YAML, twice to find duplicate fields, is a third of the
// work of an apply. plain is false for all that has to be read as YAML: what YAML might read differently, what has
// duplicate fields, and what is no object.
func readPlainJSON(body []byte) (obj map[string]any, plain bool) {
	if !isPlainJSON(body) {
		return nil, false
	}
	duplicates, err := kjson.UnmarshalStrict(body, &obj)
	return obj, err == nil && len(duplicates) == 0 && obj != nil
}

const (
	// maxPlainKey is less than what YAML takes for a key.
	maxPlainKey = 1000
	// maxPlainDigits are sure to fit into an int64.
	maxPlainDigits = 18
	// maxPlainDepth is less than what either reader takes.
	maxPlainDepth = 1000
)

// isPlainJSON says whether JSON and YAML have the same meaning for a body, provided that it is JSON at all. It says no
// whenever that takes thought: for numbers other than short integers (YAML makes 1.0 an integer), characters that YAML takes
// for line breaks or does not take, escapes that it does not know, tabs, line breaks, long keys and merges.
func isPlainJSON(body []byte) bool {
	if n := len(body); n > 0 && body[n-1] == '\n' {
		body = body[:n-1]
	}
	if len(body) == 0 || body[0] != '{' {
		return false
	}
	depth, digits := 0, 0
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c >= '0' && c <= '9' {
			if digits++; digits > maxPlainDigits {
				return false
			}
			continue
		}
		if digits > 0 && c == 'e' {
			return false
		}
		digits = 0
		switch {
		case c == '"':
			length := plainString(body[i+1:])
			if length < 0 || !plainKey(body[i+1:], length) {
				return false
			}
			i += length + 1
		case c == '{' || c == '[':
			if depth++; depth > maxPlainDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		case c == ',' || c == ':' || c == ' ' || c == '-' || c >= 'a' && c <= 'z': // of words JSON has true, false and null only
		default:
			return false
		}
	}
	return true
}

// plainString returns the length of a string up to its closing quote; -1 if it is not plain.
func plainString(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i
		case c == '\\':
			if i++; i == len(text) || !plainEscape(text[i]) {
				return -1
			}
		case c < ' ' || c == 0x7f:
			return -1
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return -1
			}
			i += size - 1
		}
	}
	return -1
}

func plainEscape(c byte) bool {
	switch c {
	case '"', '\\', 'n', 't', 'r', 'b', 'f':
		return true
	}
	return false
}

// plainKey says whether the string at the beginning of text, if it is a key, is one that YAML takes as it is.
func plainKey(text []byte, length int) bool {
	return length <= maxPlainKey && string(text[:length]) != "<<" || length+1 < len(text) && text[length+1] != ':' && text[length+1] != ' '
}
