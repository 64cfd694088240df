package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Document is one document of a file.
type Document struct {
	File   string
	Number int // counted from 1, without empty documents
	Line   int // of the file, counted from 1
	Object map[string]any
}

// Reader reads the documents of one file.
type Reader struct {
	file string
	read int // documents
	next func() (line int, object map[string]any, err error)
}

// Open reads the file, as JSON if its name says so and else as YAML.
func Open(file string) (*Reader, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable(err)
	}
	if filepath.Ext(file) == ".json" {
		return &Reader{file: file, next: jsonDocuments(content)}, nil
	}
	return &Reader{file: file, next: yamlDocuments(content)}, nil
}

// Next returns the next document that is not empty, or io.EOF. With every other error it returns the position of the
// document, and the caller can go on with the next.
func (r *Reader) Next() (Document, error) {
	line, object, err := r.next()
	r.read++
	return Document{File: r.file, Number: r.read, Line: line, Object: object}, err
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

// Objects returns the object of the document, or the items if it is a list.
func (d *Document) Objects() ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: d.Object}
	if !strings.HasSuffix(u.GetKind(), "List") || !u.IsList() {
		return []*unstructured.Unstructured{u}, nil
	}
	items, _, err := unstructured.NestedSlice(d.Object, "items")
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, 0, len(items))
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is not an object", i)
		}
		all = append(all, &unstructured.Unstructured{Object: fields})
	}
	return all, nil
}
