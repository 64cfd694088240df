package server

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// manifest is one CustomResourceDefinition of --crds with its position, or one of a program.
type manifest struct {
	file     string // "" if it is of a program
	document int    // counted from 1
	name     string
	json     []byte // encoded, because many decoded CRDs take a lot of memory
}

// errorf returns an error that names the manifest.
func (m manifest) errorf(format string, args ...any) error {
	if m.file == "" {
		return fmt.Errorf("CustomResourceDefinition %q: %w", m.name, fmt.Errorf(format, args...))
	}
	return fmt.Errorf("--crds: %s, document %d: %w", m.file, m.document, fmt.Errorf(format, args...))
}

// place says where a manifest is, after "is".
func (m manifest) place() string {
	if m.file == "" {
		return "there as an object"
	}
	return fmt.Sprintf("in %s, document %d", m.file, m.document)
}

// manifests returns the definitions to apply: those of files first.
func (o *Options) manifests() ([]manifest, error) {
	all, err := readManifests(o.CRDs)
	if err != nil {
		return nil, err
	}
	for _, definition := range o.Definitions {
		m := manifest{name: definition.Name}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
		if err != nil {
			return nil, m.errorf("%w", err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if m.json, err = checkDefinition(u); err != nil {
			return nil, m.errorf("%w", err)
		}
		all = append(all, m)
	}
	return all, rejectDuplicates(all)
}

// readManifests reads all files and directories, as many files at the same time as there are processors, and checks
// every document. It returns the first error.
func readManifests(paths []string) ([]manifest, error) {
	var files []string
	for _, path := range paths {
		some, err := manifestFiles(path)
		if err != nil {
			return nil, fmt.Errorf("--crds: %w", err)
		}
		files = append(files, some...)
	}
	found, errs := make([][]manifest, len(files)), make([]error, len(files))
	var failed atomic.Bool
	group := errgroup.Group{}
	group.SetLimit(goruntime.GOMAXPROCS(0))
	for n, file := range files {
		if failed.Load() {
			break // all files before this one are being read
		}
		group.Go(func() error {
			if found[n], errs[n] = readManifestFile(file); errs[n] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// manifestFiles returns the path itself or, of a directory, the manifests directly in it, by name.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, datadir.Cause(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, datadir.Cause(err))
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: directory without .yaml, .yml or .json files", path)
	}
	return files, nil
}

func readManifestFile(file string) ([]manifest, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--crds: %s: %w", file, datadir.Cause(err))
	}
	next := yamlDocuments(content)
	if filepath.Ext(file) == ".json" {
		next = jsonDocuments(content)
	}
	var found []manifest
	for n := 1; ; n++ {
		m := manifest{file: file, document: n}
		object, err := next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, m.errorf("%w", err)
		}
		definitions, err := definitions(object)
		if err != nil {
			return nil, m.errorf("%w", err)
		}
		for i, definition := range definitions {
			m.name = definition.GetName()
			if m.json, err = checkDefinition(definition); err != nil && len(definitions) > 1 {
				return nil, m.errorf("items[%d]: %w", i, err)
			} else if err != nil {
				return nil, m.errorf("%w", err)
			}
			found = append(found, m)
		}
	}
}

// yamlDocuments returns a function that returns the next document. Empty documents are skipped.
func yamlDocuments(content []byte) func() (map[string]any, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	return func() (map[string]any, error) {
		for {
			document, err := reader.Read()
			if err != nil {
				return nil, err
			}
			asJSON, err := yaml.YAMLToJSONStrict(document)
			if err != nil {
				return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
			}
			if bytes.Equal(asJSON, []byte("null")) {
				continue
			}
			return object(asJSON)
		}
	}
}

func jsonDocuments(content []byte) func() (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	return func() (map[string]any, error) {
		var document json.RawMessage
		if err := decoder.Decode(&document); err != nil {
			return nil, err
		}
		return object(document)
	}
}

func object(document []byte) (map[string]any, error) {
	decoded := map[string]any{}
	if err := utiljson.Unmarshal(document, &decoded); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	return decoded, nil
}

// definitions returns the document, or its items if it is a list.
func definitions(document map[string]any) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: document}
	if !strings.HasSuffix(u.GetKind(), "List") {
		return []*unstructured.Unstructured{u}, nil
	}
	items, _, err := unstructured.NestedSlice(document, "items")
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

// checkDefinition checks what needs no server, and encodes the definition without the fields that only a server
// writes. So a definition that was read from one server can be applied to another.
func checkDefinition(u *unstructured.Unstructured) ([]byte, error) {
	gvk := u.GroupVersionKind()
	switch {
	case gvk.Group != apiextensions.GroupName || gvk.Kind != "CustomResourceDefinition":
		return nil, fmt.Errorf("kind %q of apiVersion %q is not a CustomResourceDefinition", gvk.Kind, u.GetAPIVersion())
	case gvk.Version != "v1":
		return nil, fmt.Errorf("apiVersion %q is not served: only apiextensions.k8s.io/v1 is", u.GetAPIVersion())
	case u.GetName() == "":
		return nil, errors.New("metadata.name is missing")
	}
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	delete(u.Object, "status")
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	return encoded, decoder.Decode(&apiextensionsv1.CustomResourceDefinition{})
}

// rejectDuplicates refuses two manifests with the same name.
func rejectDuplicates(all []manifest) error {
	first := map[string]manifest{}
	for _, m := range all {
		if other, ok := first[m.name]; ok {
			return m.errorf("%s is already %s", m.name, other.place())
		}
		first[m.name] = m
	}
	return nil
}
