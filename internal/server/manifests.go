package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/manifests"
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
		some, err := manifests.Files(path)
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

func readManifestFile(file string) ([]manifest, error) {
	documents, err := manifests.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--crds: %w", err)
	}
	var found []manifest
	for {
		document, err := documents.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		m := manifest{file: file, document: document.Number}
		if err != nil {
			return nil, m.errorf("%w", err)
		}
		definitions, err := document.Objects()
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
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp",
		"selfLink"} {
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
