// Command licenses writes the licenses of what is compiled into a binary to a directory: of each module, and of Go. It
// fails if a module has none. It runs in the module of the binary, and needs nothing but Go:
//
//	go run .ci/licenses.go bin/crd-server LICENSES
package main

import (
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// license matches the names of files with licenses, and of those that must be kept with them.
var license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "licenses takes a binary and a directory")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// write writes the licenses of a binary to a directory.
func write(binary, to string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	goroot, err := output("env", "GOROOT")
	if err != nil {
		return err
	}
	if err := copyLicenses(goroot, filepath.Join(to, "go@"+info.GoVersion), false); err != nil {
		return err
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		dir, err := output("list", "-m", "-f", "{{.Dir}}", module.Path+"@"+module.Version)
		if err != nil {
			return err
		}
		if err := copyLicenses(dir, filepath.Join(to, module.Path+"@"+module.Version), true); err != nil {
			return err
		}
	}
	return nil
}

// output runs go and returns what it prints.
func output(args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(printed)), nil
}

// copyLicenses copies the licenses in a directory, and with deep those in directories below: they are of code that the
// module has from others.
func copyLicenses(from, to string, deep bool) error {
	found := false
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != from && (!deep || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || !license.MatchString(entry.Name()) || filepath.Ext(path) == ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		found = found || filepath.Dir(name) == "."
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no license", from)
	}
	return err
}
