//go:build !library

package objectjson

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// UnmarshalYAML decodes a YAML document that is a JSON object, if YAML and JSON agree on its meaning and it has no
// duplicate fields. Otherwise ok is false, and the caller parses it as YAML. Patches of server-side apply are YAML
// but almost all clients send JSON; the YAML parser, which runs twice to find duplicate fields, takes a third of the
// work of an apply.
// See docs/upstream.md, "Applied JSON is parsed as YAML".
func UnmarshalYAML(body []byte) (obj map[string]any, ok bool) {
	if !agrees(body) {
		return nil, false
	}
	return UnmarshalStrict(body)
}

const (
	// maxPlainKey is less than the longest key of YAML.
	maxPlainKey = 1000
	// maxPlainDigits is less than the digits of the largest int64.
	maxPlainDigits = 18
	// maxPlainDepth is less than the limit of either parser.
	maxPlainDepth = 1000
)

// agrees says whether JSON and YAML agree on the meaning of a body, provided that it is JSON. It returns false for
// all doubtful cases: numbers other than short integers (YAML reads 1.0 as an integer), characters that YAML refuses
// or takes for line breaks, escapes that it does not know, tabs, line breaks, long keys and merge keys.
func agrees(body []byte) bool {
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
		// the only words of JSON are true, false and null
		case c == ',' || c == ':' || c == ' ' || c == '-' || c >= 'a' && c <= 'z':
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
			if i++; i == len(text) || strings.IndexByte(`"\ntrbf`, text[i]) < 0 {
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

// plainKey says whether YAML reads the string of a length at the beginning of text as JSON does if it is a key.
func plainKey(text []byte, length int) bool {
	return length <= maxPlainKey && string(text[:length]) != "<<" || length+1 < len(text) && text[length+1] != ':' &&
		text[length+1] != ' '
}
