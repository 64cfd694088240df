package docs

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/port"
	"github.com/crd-server/crd-server/test/programs"
)

// preamble is what a shell reads before the first block.
//
//go:embed testdata/preamble.sh
var preamble string

// wrapper stands for crd-server in the path of a shell.
//
//go:embed testdata/crd-server.sh
var wrapper string

const (
	// marker ends the output of a block, failure that of a shell.
	marker  = "=== end of the block"
	failure = "=== end of the shell"
	// patience bounds a page, so that a command without an end does not stop the other tests.
	patience = 2 * time.Minute
	// morePatience bounds a page that runs other projects' controllers, whose leader elections take their time.
	morePatience = 10 * time.Minute
)

// session is a shell in which the blocks of a page run.
type session struct {
	input io.Writer
	lines *bufio.Scanner
}

// newSession starts a shell. It ends with the test, and with it the processes that it has started. The shell has the
// programs that are named besides those of every shell.
func newSession(t *testing.T, named ...string) *session {
	t.Helper()
	dir := workspace(t, named)
	shell := exec.Command("bash", "--norc", "--noprofile")
	shell.Dir = filepath.Join(dir, "project")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Env = environment(t, dir)
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.Stderr = shell.Stdout
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) } // the shell and what it has started
	limit := patience
	if len(named) > 0 {
		limit = morePatience
	}
	end := time.AfterFunc(limit, kill)
	t.Cleanup(func() {
		if t.Failed() {
			logServers(t, dir)
		}
		end.Stop()
		kill()
		_ = shell.Wait() // says that it was killed
	})
	s := &session{input: input, lines: bufio.NewScanner(output)}
	if _, err := io.WriteString(input, preamble); err != nil {
		t.Fatal(err)
	}
	return s
}

// environment returns the variables of a shell.
func environment(t *testing.T, dir string) []string {
	t.Helper()
	all := []string{
		"HOME=" + dir, "TMPDIR=" + dir, "STARTED=" + filepath.Join(dir, "started"), "LC_ALL=C", "TERM=dumb",
		"PATH=" + filepath.Join(dir, "project", "bin") + ":" + os.Getenv("PATH"),
		"GOPATH=" + goVariable(t, "GOPATH"), "GOCACHE=" + goVariable(t, "GOCACHE"), "CGO_ENABLED=0", "GOFLAGS=",
		"CRD_SERVER_SECURE_PORT=0", // a free one
	}
	for i, port := range freePorts(t, 6) {
		all = append(all, fmt.Sprintf("PORT%d=%d", i+1, port))
	}
	return all
}

// run runs commands and returns what they print. It returns an error if one of them fails.
func (s *session) run(commands string) (string, error) {
	if _, err := fmt.Fprintf(s.input, "{\n%s\n:; } </dev/null\necho; echo '%s'\n", commands, marker); err != nil {
		return "", err
	}
	var printed strings.Builder
	for s.lines.Scan() {
		switch s.lines.Text() {
		case marker:
			return printed.String(), nil
		case failure:
			return printed.String(), errors.New("a command has failed")
		}
		printed.WriteString(s.lines.Text() + "\n")
	}
	return printed.String(), errors.Join(errors.New("the shell was killed, because it took too long"), s.lines.Err())
}

// logServers logs what the servers have printed.
func logServers(t *testing.T, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "started", "*"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			t.Logf("%s:\n%s", filepath.Base(file), text)
		}
	}
}

// workspace makes a folder with the project, the programs and a place for notes of the wrapper.
func workspace(t *testing.T, named []string) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "project", "bin")
	for _, folder := range []string{bin, filepath.Join(dir, "started")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(from, to string) {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"config", "docs", "test"} {
		link(filepath.Join(programs.Root(), name), filepath.Join(dir, "project", name))
	}
	for _, name := range append(slices.Collect(maps.Keys(tools)), named...) {
		find, ok := tools[name]
		if !ok {
			find = func() (string, error) { return programs.Other(name) }
		}
		path, err := find()
		if err != nil {
			t.Fatal(err)
		}
		link(path, filepath.Join(bin, name))
	}
	script := fmt.Sprintf(wrapper, programs.Server())
	if err := os.WriteFile(filepath.Join(bin, "crd-server"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// freePorts returns ports on which nothing listens.
func freePorts(t *testing.T, count int) []int {
	t.Helper()
	var ports []int
	for range count {
		free, err := port.Free()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, free)
	}
	return ports
}

// tools are the programs in the path of a shell besides crd-server.
var tools = map[string]func() (string, error){
	"kubectl": programs.Kubectl, "etcd": programs.EtcdRelease, "etcdctl": programs.Etcdctl, "etcdutl": programs.Etcdutl,
	"websites": programs.Websites,
}

// goVariable returns a variable of the go command, whose defaults depend on the home folder.
func goVariable(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}
