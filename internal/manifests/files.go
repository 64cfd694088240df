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

// Files returns the path itself or, of a directory, the manifests in it, in lexical order. If below is true, these are
// also the manifests of directories in it, except for those whose names begin with a dot.
func Files(path string, below bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := directory(path, below)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: directory without .yaml, .yml or .json files", path)
	}
	return files, err
}

func directory(path string, below bool) (files []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, unreadable(err)
	}
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		switch {
		case !entry.IsDir():
			if slices.Contains(extensions, filepath.Ext(name)) {
				files = append(files, name)
			}
		case below && !strings.HasPrefix(entry.Name(), "."):
			more, err := directory(name, true)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
	}
	return files, nil
}

// unreadable returns the error of a file system as "PATH: CAUSE". The name of the system call says nothing to users.
func unreadable(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", failed.Path, failed.Err)
	}
	return err
}
