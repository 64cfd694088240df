package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// ErrNotObject is returned for a document that is not an object, such as a list.
var ErrNotObject = errors.New("not an object")

// Manifest is an object in a file: a document, or an item of a document that is a list.
type Manifest struct {
	*unstructured.Unstructured
	File     string
	Document int // counted from 1, without empty documents
	Line     int // where the document begins, counted from 1
	Item     int // counted from 0; -1 if the document is not a list
}

// Read reads the file, as JSON if its name says so and else as YAML, and returns its manifests. With an error come the
// position of the document and what could be read of it, and the caller can go on with the next.
func Read(file string) (iter.Seq2[Manifest, error], error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable(err)
	}
	next := yamlDocuments(content)
	if filepath.Ext(file) == ".json" {
		next = jsonDocuments(content)
	}
	return func(yield func(Manifest, error) bool) {
		for number := 1; ; number++ {
			line, object, err := next()
			if errors.Is(err, io.EOF) {
				return
			}
			document := Manifest{&unstructured.Unstructured{Object: object}, file, number, line, -1}
			var found []Manifest
			if err == nil {
				found, err = document.items()
			}
			if err != nil && !yield(document, err) {
				return
			}
			for _, m := range found {
				if !yield(m, nil) {
					return
				}
			}
		}
	}, nil
}

// items returns the manifest, or the items if it is a list.
func (m Manifest) items() ([]Manifest, error) {
	if !strings.HasSuffix(m.GetKind(), "List") || !m.IsList() {
		return []Manifest{m}, nil
	}
	items, _, err := unstructured.NestedSlice(m.Object, "items")
	if err != nil {
		return nil, err
	}
	all := make([]Manifest, 0, len(items))
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is not an object", i)
		}
		m.Item, m.Unstructured = i, &unstructured.Unstructured{Object: fields}
		all = append(all, m)
	}
	return all, nil
}

func yamlDocuments(content []byte) func() (int, map[string]any, error) {
	unread := bytes.NewReader(content)
	buffered := bufio.NewReader(unread)
	documents := utilyaml.NewYAMLReader(buffered)
	return func() (int, map[string]any, error) {
		for {
			read := len(content) - unread.Len() - buffered.Buffered()
			before := bytes.Count(content[:read], []byte("\n"))
			document, err := documents.Read()
			if err != nil {
				return before + 1, nil, err
			}
			line := before + 1 + linesWithoutContent(document)
			// As many empty lines as there are before the document make the parser count lines as the file does.
			asJSON, err := yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), before), document...))
			if err != nil {
				return line, nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // in one line
			}
			if bytes.Equal(asJSON, []byte("null")) {
				continue
			}
			decoded, err := decode(asJSON)
			return line, decoded, err
		}
	}
}

// linesWithoutContent returns how many lines a YAML document begins with that are empty, comments or its separator.
func linesWithoutContent(document []byte) (n int) {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("---")) {
			break
		}
		n++
	}
	return n
}

func jsonDocuments(content []byte) func() (int, map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	var failed error
	return func() (int, map[string]any, error) {
		var document json.RawMessage
		if failed != nil {
			return 0, nil, io.EOF // what follows a syntax error cannot be read
		}
		unread := bytes.TrimLeft(content[decoder.InputOffset():], " \t\r\n")
		line := 1 + bytes.Count(content[:len(content)-len(unread)], []byte("\n"))
		if failed = decoder.Decode(&document); failed != nil {
			return line, nil, failed
		}
		decoded, err := decode(document)
		return line, decoded, err
	}
}

func decode(document []byte) (map[string]any, error) {
	decoded := map[string]any{}
	if err := utiljson.Unmarshal(document, &decoded); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotObject, err)
	}
	return decoded, nil
}
