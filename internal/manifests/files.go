package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions are those of manifests in directories. A file that is named itself may have any.
var extensions = []string{".yaml", ".yml", ".json"}

func isManifest(name string) bool { return slices.Contains(extensions, filepath.Ext(name)) }

// Files returns the path itself or, of a directory, the manifests directly in it, by name.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, unreadable(err)
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && isManifest(entry.Name()) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, checkFound(path, files)
}

// Tree returns the path itself or, of a directory, the manifests in it and below it, in lexical order. It leaves out
// directories whose names begin with a dot.
func Tree(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir() && isManifest(name):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, unreadable(err)
	}
	return files, checkFound(path, files)
}

// unreadable returns the error of a file system as "PATH: CAUSE". The name of the system call says nothing to users.
func unreadable(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", failed.Path, failed.Err)
	}
	return err
}

// checkFound fails if a directory has no manifests.
func checkFound(directory string, files []string) error {
	if len(files) > 0 {
		return nil
	}
	return fmt.Errorf("%s: directory without .yaml, .yml or .json files", directory)
}
