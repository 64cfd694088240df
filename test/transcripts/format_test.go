package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value that keeps the order of fields and the spelling of values, so that a response is shown as it
// was sent.
type node struct {
	kind   nodeKind
	raw    string // of a scalar
	keys   []string
	values []*node
}

type nodeKind int

const (
	scalarNode nodeKind = iota
	stringNode
	objectNode
	arrayNode
)

// maxWidth is the length up to which an object or array is shown in one line.
const maxWidth = 110

// parseJSON reads the one JSON value in data.
func parseJSON(data []byte) (*node, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	root, err := readNode(decoder, data)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return root, nil
}

func readNode(decoder *json.Decoder, data []byte) (*node, error) {
	start := decoder.InputOffset()
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	raw := strings.TrimLeft(string(data[start:decoder.InputOffset()]), " \t\r\n,:")
	switch token {
	case json.Delim('{'), json.Delim('['):
	default:
		if _, ok := token.(string); ok {
			return &node{kind: stringNode, raw: raw}, nil
		}
		return &node{raw: raw}, nil
	}
	n := &node{kind: arrayNode}
	if token == json.Delim('{') {
		n.kind = objectNode
	}
	for decoder.More() {
		if n.kind == objectNode {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key.(string))
		}
		value, err := readNode(decoder, data)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, value)
	}
	_, err = decoder.Token()
	return n, err
}

// text is the value of a string.
func (n *node) text() string {
	if n == nil || n.kind != stringNode {
		return ""
	}
	value, err := strconv.Unquote(n.raw)
	if err != nil {
		_ = json.Unmarshal([]byte(n.raw), &value)
	}
	return value
}

// setText replaces a string; one that keeps its value keeps its spelling.
func (n *node) setText(value string) {
	if value == n.text() {
		return
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	n.raw = strings.TrimSpace(quoted.String())
}

// field returns the value of an object's field, or nil.
func (n *node) field(name string) *node {
	if n == nil {
		return nil
	}
	for i, key := range n.keys {
		if key == name {
			return n.values[i]
		}
	}
	return nil
}

func (n *node) isList() bool {
	return n.field("items") != nil || n.field("columnDefinitions") != nil
}

func (n *node) isBookmark() bool { return n.field("type").text() == "BOOKMARK" }

// keep drops all items of a list but the named one.
func (n *node) keep(name string) {
	for _, field := range []string{"items", "groups"} {
		list := n.field(field)
		if list == nil {
			continue
		}
		var kept []*node
		for _, item := range list.values {
			if item.field("name").text() == name || item.field("metadata").field("name").text() == name {
				kept = append(kept, item)
			}
		}
		list.values = kept
	}
}

// keepResources drops all resources of a discovery document but the named ones, and those below them.
func (n *node) keepResources(names []string) {
	for i, value := range n.values {
		if n.kind == objectNode && n.keys[i] == "resources" {
			value.values = slices.DeleteFunc(value.values, func(resource *node) bool {
				name := resource.field("name").text() + resource.field("resource").text()
				return !slices.Contains(names, name)
			})
		}
		value.keepResources(names)
	}
}

// servers are the field managers of servers. What their controllers write is not shown: see docs/conformance.md, D1.
var servers = []string{"upstream", "transcripts-upstream", "crd-server", "kube-apiserver", "kube-controller-manager"}

// dropServers removes the entries of servers from managedFields.
func (n *node) dropServers() {
	for i, value := range n.values {
		if n.kind == objectNode && n.keys[i] == "managedFields" {
			value.values = slices.DeleteFunc(value.values, func(entry *node) bool {
				return slices.Contains(servers, entry.field("manager").text())
			})
		}
		value.dropServers()
	}
	if i := slices.Index(n.keys, "managedFields"); i >= 0 && len(n.values[i].values) == 0 {
		n.keys, n.values = slices.Delete(n.keys, i, i+1), slices.Delete(n.values, i, i+1)
	}
}

// unorder sorts the causes of a Status and removes them from its message.
func (n *node) unorder() {
	causes := n.field("details").field("causes")
	if causes == nil {
		return
	}
	slices.SortFunc(causes.values, func(a, b *node) int { return strings.Compare(a.line(), b.line()) })
	if message := n.field("message"); message != nil {
		before, _, _ := strings.Cut(message.text(), ": [")
		message.setText(before + ": [...]")
	}
}

// invalidObject matches the beginning of the message of an error that shows an object.
var invalidObject = regexp.MustCompile(`Invalid value: [{[].*?[]}]: `)

// hideValues removes the objects that errors show, and the lines after the first one, which show differences of
// objects.
func (n *node) hideValues() {
	n.walk(nil, func(_ []string, n *node) {
		line, _, _ := strings.Cut(n.text(), "\n")
		n.setText(invalidObject.ReplaceAllString(line, "Invalid value: {...}: "))
	})
}

// rename replaces the names of fields.
func (n *node) rename(name func(string) string) {
	for i, value := range n.values {
		if n.kind == objectNode {
			n.keys[i] = name(n.keys[i])
		}
		value.rename(name)
	}
}

// walk visits all scalars with their paths.
func (n *node) walk(path []string, visit func(path []string, n *node)) {
	switch n.kind {
	case objectNode:
		for i, key := range n.keys {
			n.values[i].walk(append(path[:len(path):len(path)], key), visit)
		}
	case arrayNode:
		for _, value := range n.values {
			value.walk(append(path[:len(path):len(path)], "[]"), visit)
		}
	default:
		visit(path, n)
	}
}

// line returns the value in one line.
func (n *node) line() string {
	var parts []string
	for i, value := range n.values {
		part := value.line()
		if n.kind == objectNode {
			part = strconv.Quote(n.keys[i]) + ": " + part
		}
		parts = append(parts, part)
	}
	switch joined := strings.Join(parts, ", "); n.kind {
	case objectNode:
		return "{" + joined + "}"
	case arrayNode:
		return "[" + joined + "]"
	default:
		return n.raw
	}
}

// layout returns the value in as many lines as it needs. Short values, and entries of managedFields, take one.
func (n *node) layout(indent, key string) string {
	line := n.line()
	if n.kind != objectNode && n.kind != arrayNode || len(n.values) == 0 ||
		indent != "" && len(indent)+len(key)+len(line) <= maxWidth || key == "[managedFields]" {
		return line
	}
	open, end := "{", "}"
	if n.kind == arrayNode {
		open, end = "[", "]"
	}
	inner := indent + "  "
	var out strings.Builder
	out.WriteString(open + "\n")
	for i, value := range n.values {
		out.WriteString(inner)
		if n.kind == objectNode {
			out.WriteString(strconv.Quote(n.keys[i]) + ": " + value.layout(inner, n.keys[i]))
		} else {
			out.WriteString(value.layout(inner, "["+key+"]"))
		}
		if i < len(n.values)-1 {
			out.WriteString(",")
		}
		out.WriteString("\n")
	}
	return out.String() + indent + end
}
