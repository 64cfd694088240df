package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"

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
		some, err := manifests.Files(path, false)
		if err != nil {
			return nil, fmt.Errorf("--crds: %w", err)
		}
		files = append(files, some...)
	}
	found, errs := make([][]manifest, len(files)), make([]error, len(files))
	group := errgroup.Group{}
	group.SetLimit(goruntime.GOMAXPROCS(0))
	for n, file := range files {
		group.Go(func() error {
			found[n], errs[n] = readManifestFile(file)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return slices.Concat(found...), cmp.Or(errs...)
}

func readManifestFile(file string) ([]manifest, error) {
	all, err := manifests.Read(file)
	if err != nil {
		return nil, fmt.Errorf("--crds: %w", err)
	}
	var found []manifest
	for definition, err := range all {
		m := manifest{file: file, document: definition.Document, name: definition.GetName()}
		if err == nil {
			m.json, err = checkDefinition(definition.Unstructured)
		}
		if err != nil && definition.Item >= 0 {
			err = fmt.Errorf("items[%d]: %w", definition.Item, err)
		}
		if err != nil {
			return nil, m.errorf("%w", err)
		}
		found = append(found, m)
	}
	return found, nil
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
