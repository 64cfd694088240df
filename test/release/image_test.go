//go:build linux

package release

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

// nonRoot is the user of the image.
const nonRoot = 65532

// skipRaceDetector skips a test of what is released: a server with the race detector needs cgo.
func skipRaceDetector(t *testing.T) {
	t.Helper()
	if programs.BuiltWith("-race") == "true" {
		t.Skip("the server has the race detector")
	}
}

// TestStatic checks that the binary needs no library.
func TestStatic(t *testing.T) {
	t.Parallel()
	skipRaceDetector(t)
	binary, err := elf.Open(programs.Server())
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the binary needs %v (%v)", libraries, err)
	}
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("the binary is dynamically linked")
		}
	}
}

// TestImage runs the server with what the image has: the binary, its two directories, and a user without a name. Only
// root can change the root directory.
func TestImage(t *testing.T) {
	t.Parallel()
	skipRaceDetector(t)
	if os.Geteuid() != 0 {
		t.Skip("it needs root")
	}
	dockerfile := string(readProject(t, "config/deploy/Dockerfile"))
	_, image, _ := strings.Cut(dockerfile, "\nFROM scratch\n")
	if !strings.Contains(image, "\nUSER 65532:65532\n") {
		t.Fatal("the image is not from scratch, or has another user")
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile(programs.Server())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "crd-server"), server, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"var/lib/crd-server", "tmp"} {
		if !strings.Contains(dockerfile, "/image/write/"+dir) {
			t.Fatalf("the image has no /%s", dir)
		}
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, dir), nonRoot, nonRoot); err != nil {
			t.Fatal(err)
		}
	}
	serveInRoot(t, root)

	check := inRoot(t, root, "check", "/samples")
	if err := os.CopyFS(filepath.Join(root, "samples"), os.DirFS(projectPath("config/samples"))); err != nil {
		t.Fatal(err)
	}
	if output, err := check.CombinedOutput(); err != nil || !strings.HasSuffix(string(output), " are valid\n") {
		t.Errorf("%v\n%s", err, output)
	}
}

// serveInRoot starts a server with the arguments of the image, and stops it.
func serveInRoot(t *testing.T, root string) {
	t.Helper()
	command := inRoot(t, root, "--data-dir=/var/lib/crd-server", "--bind-address=0.0.0.0", "--secure-port=0")
	var failure bytes.Buffer
	command.Stderr = &failure
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("crd-server is ready"))
	if _, err := io.ReadFull(stdout, ready); err != nil || string(ready) != "crd-server is ready" {
		t.Errorf("%q, %v", ready, err)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &failure)
	}
}

// inRoot returns a command in the root directory, as the user of the image. It has no environment.
func inRoot(t *testing.T, root string, args ...string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), "/crd-server", args...)
	command.Env, command.Dir = []string{}, "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: nonRoot, Gid: nonRoot},
	}
	return command
}
