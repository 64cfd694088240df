//go:build linux

package release

import (
	"archive/tar"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

// fakes stand for programs of .ci/release that take long: make gives it the server that is tested, go writes no SBOM,
// and gzip compresses less.
var fakes = map[string]string{
	"make": `#!/bin/sh
for argument; do
	case $argument in BIN=*) cp "$SERVER" "${argument#BIN=}" ;; esac
done
`,
	"go": `#!/bin/sh
case "$*" in
"run github.com/CycloneDX/"*) exit ;;
esac
exec "$GO" "$@"
`,
	"gzip": `#!/bin/sh
exec "$GZIP_PROGRAM" -1
`,
}

// TestArchive makes an archive of the server, and checks that it has the license of each module of the binary, and of
// Go.
func TestArchive(t *testing.T) {
	t.Parallel()
	projectFiles(t) // skips the test without git, which .ci/release needs
	bin, out := t.TempDir(), t.TempDir()
	for name, script := range fakes {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), projectPath(".ci/release"))
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SERVER="+programs.Server(),
		"GO="+found(t, "go"), "GZIP_PROGRAM="+found(t, "gzip"), "OUT="+out, "PLATFORMS=linux/"+runtime.GOARCH)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	folders := map[string]bool{} // that have a license
	name := regexp.MustCompile(`/(?i:licen[cs]e|copying)[^/]*$`)
	archive := filepath.Join(out, "crd-server-"+nextVersion(t)+"-linux-"+runtime.GOARCH+".tar.gz")
	for path, size := range filesIn(t, archive) {
		if at := name.FindStringIndex(path); at != nil && size > 0 {
			folders[path[:at[0]]] = true
		}
	}
	info, err := buildinfo.ReadFile(programs.Server())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) == 0 || !folders["LICENSES/go@"+info.GoVersion] {
		t.Errorf("%d modules, %v", len(info.Deps), folders)
	}
	for _, module := range info.Deps {
		if !folders["LICENSES/"+module.Path+"@"+module.Version] {
			t.Errorf("the archive has no license of %s", module.Path)
		}
	}
}

// TestImageHasLicenses checks that the image is built with the licenses, as the archives are.
func TestImageHasLicenses(t *testing.T) {
	t.Parallel()
	dockerfile, sent := string(readProject(t, "config/deploy/Dockerfile")), string(readProject(t, ".dockerignore"))
	if !strings.Contains(dockerfile, "go run .ci/licenses.go bin/crd-server /image/read/licenses") {
		t.Error("the image has no licenses")
	}
	for _, path := range []string{".ci/licenses.go", "LICENSE"} {
		if !strings.Contains(sent, "\n!"+path+"\n") {
			t.Errorf("the build of the image does not get %s", path)
		}
	}
}

// found returns the path of a program.
func found(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// filesIn returns the sizes of the files in an archive.
func filesIn(t *testing.T, archive string) map[string]int64 {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int64{}
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header.Size
	}
}
