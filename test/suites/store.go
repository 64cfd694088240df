package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// store keeps results in files, so that a run against one server is compared with the last run against the other.
type store struct{ dir string }

func (s store) path(pkg, server string) string {
	return filepath.Join(s.dir, fileName(pkg)+"-"+server+".json")
}

// save keeps a result.
func (s store) save(r result) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path(r.Package, r.Server), content, 0o644)
}

// load returns the last result of a package against a server; it is empty if there is none.
func (s store) load(pkg, server string) (r result, err error) {
	content, err := os.ReadFile(s.path(pkg, server))
	if errors.Is(err, os.ErrNotExist) {
		return result{}, nil
	}
	if err != nil {
		return result{}, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return result{}, fmt.Errorf("%s: %w", s.path(pkg, server), err)
	}
	return r, nil
}
