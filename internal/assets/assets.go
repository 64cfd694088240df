// Package assets makes the folder of programs that controller-runtime's envtest starts: the value of
// KUBEBUILDER_ASSETS. Its kube-apiserver and etcd are links to crd-server, which acts by the name it is called by.
package assets

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// Config says what Make makes.
type Config struct {
	// Dir is the folder. It is created if it is missing.
	Dir string
	// Program is the absolute path of crd-server.
	Program string
	// Kubectl is the absolute path of a kubectl; "" without one.
	Kubectl string
	// Copy copies Program instead of linking to it.
	Copy bool
}

// Make makes the folder, or completes it, and returns a sentence about each program. It replaces links and files of
// crd-server, and no other files.
func Make(c Config) (made []string, err error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	server := asset{path: c.path("kube-apiserver"), source: c.Program, copied: c.Copy}
	etcd := asset{path: c.path("etcd"), source: c.Program}
	if c.Copy {
		etcd.source = filepath.Base(server.path) // the folder can be moved
	}
	for _, a := range []asset{server, etcd} {
		done, err := a.replace()
		if err != nil {
			return nil, err
		}
		made = append(made, done)
	}
	if c.Kubectl == "" {
		return append(made, "there is no kubectl in PATH: tests that run it will fail"), nil
	}
	done, err := asset{path: c.path("kubectl"), source: c.Kubectl}.keep()
	return append(made, done), err
}

func (c *Config) path(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(c.Dir, name)
}

// asset is a program in the folder.
type asset struct {
	path string
	// source is the program that it is a link to, or a copy of; as in a symbolic link, relative to the folder.
	source string
	copied bool
}

// replace makes the asset. It replaces a link or a file of crd-server that is there.
func (a asset) replace() (made string, err error) {
	info, err := os.Lstat(a.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.make()
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0 && !isOurs(a.path):
		return "", fmt.Errorf("%s exists and is not crd-server: remove it, or choose another folder", a.path)
	}
	if err := os.Remove(a.path); err != nil {
		return "", err
	}
	return a.make()
}

// keep makes the asset unless there is one.
func (a asset) keep() (made string, err error) {
	if _, err := os.Stat(a.path); err == nil {
		return a.path + " is left as it is", nil
	}
	return a.replace()
}

// isOurs reports whether a file is a program of the module of this one.
func isOurs(path string) bool {
	file, err := buildinfo.ReadFile(path)
	own, ok := debug.ReadBuildInfo()
	return err == nil && ok && file.Main.Path == own.Main.Path
}

// make makes a symbolic link, a hard link where that fails, as on Windows, or a copy where that fails too.
func (a asset) make() (made string, err error) {
	source := a.source
	if !filepath.IsAbs(source) {
		source = filepath.Join(filepath.Dir(a.path), source)
	}
	if !a.copied {
		if os.Symlink(a.source, a.path) == nil || os.Link(source, a.path) == nil {
			return fmt.Sprintf("%s is a link to %s", a.path, source), nil
		}
	}
	if err := copyFile(source, a.path); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is a copy of %s", a.path, source), nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
