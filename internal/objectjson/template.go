package objectjson

import (
	"bytes"
	"strconv"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// Template is JSON with holes. It is immutable.
type Template struct {
	// texts are the JSON around the holes; hole n is after text n.
	texts [][]byte
	// values says which value is put into each hole.
	values []int
}

// Each process draws the mark anew, so that no client can send it.
var markPrefix = "hole-" + string(uuid.NewUUID()) + "-"

// Mark returns the string that stands for value n in JSON that becomes a template. It has only letters, digits and
// hyphens.
func Mark(n int) string { return markPrefix + strconv.Itoa(n) + "-" }

// NewTemplate returns the template of encoded JSON. A hole is a mark together with before and after, which surround
// every mark.
func NewTemplate(encoded []byte, before, after string) *Template {
	t := &Template{}
	begin, end := []byte(before+markPrefix), []byte("-"+after)
	for {
		text, rest, found := bytes.Cut(encoded, begin)
		t.texts = append(t.texts, text)
		if !found {
			return t
		}
		number, following, _ := bytes.Cut(rest, end)
		n, _ := strconv.Atoi(string(number)) // Mark wrote it
		t.values, encoded = append(t.values, n), following
	}
}

// Append appends the JSON with a value in every hole to dst, without escaping the values.
func (t *Template) Append(dst []byte, values [][]byte) []byte {
	for n, value := range t.values {
		dst = append(append(dst, t.texts[n]...), values[value]...)
	}
	return append(dst, t.texts[len(t.values)]...)
}
