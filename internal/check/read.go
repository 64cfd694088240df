package check

import (
	"errors"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/manifests"
)

// kustomizeGroup has the kinds of files that configure kustomize. No server serves them.
const kustomizeGroup = "kustomize.config.k8s.io"

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// manifest is a manifest to check.
type manifest struct {
	manifests.Manifest
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
		files, err := manifests.Files(path, true)
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
	all, err := manifests.Read(file)
	if err != nil {
		return err
	}
	for read, err := range all {
		noSyntaxError := err == nil || errors.Is(err, manifests.ErrNotObject)
		if inDirectory && read.Item < 0 && noSyntaxError && !claimsToBeObject(read.Object) ||
			err == nil && read.GroupVersionKind().Group == kustomizeGroup {
			continue
		}
		m := &manifest{read, s.read}
		s.read++
		if err == nil {
			err = checkKind(m)
		}
		if err != nil {
			r.fail(m, err)
			continue
		}
		s.add(m)
	}
	return nil
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
