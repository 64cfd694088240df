package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// Definition is a CRD of the part crds, ready to be sent.
type Definition struct {
	Name string
	// Path is the URL path of the objects in a served version.
	Path string
	// Body is the JSON of the CRD; Object is an empty object.
	Body, Object []byte
}

// loadCRDs reads the CRDs in a directory tree, up to a number, in the order of files.
func loadCRDs(dir string, most int) ([]*Definition, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	read := make([][]*Definition, len(files))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, file := range files[:min(most, len(files))] {
		group.Go(func() (err error) {
			read[i], err = readCRDs(file)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(read...)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no CRDs", dir)
	}
	return all[:min(most, len(all))], nil
}

// readCRDs reads the CRDs of a file.
func readCRDs(file string) ([]*Definition, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []*Definition
	for _, document := range bytes.Split(append([]byte("\n"), content...), []byte("\n---")) {
		body, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !bytes.Contains(body, []byte(`"kind":"CustomResourceDefinition"`)) {
			continue
		}
		definition, err := newDefinition(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, definition)
	}
	return found, nil
}

func newDefinition(body []byte) (*Definition, error) {
	var crd struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group, Scope string
			Names        struct{ Plural, Kind string }
			Versions     []struct {
				Name   string
				Served bool
			}
		}
	}
	if err := json.Unmarshal(body, &crd); err != nil {
		return nil, err
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		path := "/apis/" + crd.Spec.Group + "/" + version.Name
		if crd.Spec.Scope == "Namespaced" {
			path += "/namespaces/bench"
		}
		return &Definition{
			Name: crd.Metadata.Name,
			Path: path + "/" + crd.Spec.Names.Plural,
			Body: body,
			Object: fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":"%s","metadata":{"name":"one"},`+
				`"spec":{"forProvider":{"region":"us-west-1"}}}`,
				crd.Spec.Group, version.Name, crd.Spec.Names.Kind),
		}, nil
	}
	return nil, fmt.Errorf("CRD %s serves no version", crd.Metadata.Name)
}
