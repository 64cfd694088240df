package check

import (
	"errors"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/manifests"
)

// kustomizeGroup has the kinds of files that configure kustomize. No server serves them.
const kustomizeGroup = "kustomize.config.k8s.io"

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// manifest is an object with its position.
type manifest struct {
	*unstructured.Unstructured
	file string
	line int
	// number is the number of manifests that were read before.
	number int
}

func (m *manifest) groupKind() schema.GroupKind { return m.GroupVersionKind().GroupKind() }

// manifestSet has the CRDs and the other objects.
type manifestSet struct {
	definitions, objects []*manifest
	// read counts all manifests, also those that are not in the set because of a mistake.
	read int
}

// next returns the next manifest that is read.
func (s *manifestSet) next(document *manifests.Document, object map[string]any) *manifest {
	s.read++
	return &manifest{
		Unstructured: &unstructured.Unstructured{Object: object},
		file:         document.File, line: document.Line, number: s.read - 1,
	}
}

func (s *manifestSet) add(m *manifest) {
	if m.groupKind() == definitionKind {
		s.definitions = append(s.definitions, m)
	} else {
		s.objects = append(s.objects, m)
	}
}

// read collects the manifests in the files and directories, and reports those that cannot be read.
func read(paths []string, r *report) (*manifestSet, error) {
	set, seen := &manifestSet{}, map[string]bool{}
	for _, path := range paths {
		files, err := manifests.Tree(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			if err := set.readFile(file, info.IsDir(), r); err != nil {
				return nil, err
			}
		}
	}
	return set, nil
}

// readFile adds the manifests of a file. A directory may have files that are no manifests: documents without apiVersion
// and kind are skipped there.
func (s *manifestSet) readFile(file string, inDirectory bool, r *report) error {
	documents, err := manifests.Open(file)
	if err != nil {
		return err
	}
	for {
		document, err := documents.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		noSyntaxError := err == nil || errors.Is(err, manifests.ErrNotObject)
		if inDirectory && noSyntaxError && !claimsToBeObject(document.Object) {
			continue
		}
		var objects []*unstructured.Unstructured
		if err == nil {
			objects, err = document.Objects()
		}
		if err != nil {
			r.fail(s.next(&document, document.Object), err)
			continue
		}
		for _, object := range objects {
			if object.GroupVersionKind().Group == kustomizeGroup {
				continue
			}
			m := s.next(&document, object.Object)
			if err := checkKind(m); err != nil {
				r.fail(m, err)
				continue
			}
			s.add(m)
		}
	}
}

func claimsToBeObject(object map[string]any) bool {
	_, hasVersion := object["apiVersion"]
	_, hasKind := object["kind"]
	return hasVersion || hasKind
}

func checkKind(m *manifest) error {
	switch {
	case m.GetAPIVersion() == "":
		return errors.New("apiVersion is missing")
	case m.GetKind() == "":
		return errors.New("kind is missing")
	}
	_, err := schema.ParseGroupVersion(m.GetAPIVersion())
	return err
}
