package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestKubectl plays the scripts with the kubectl of this Kubernetes version.
func TestKubectl(t *testing.T) {
	path, err := programs.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	playScripts(t, path)
}

// TestSystemKubectl plays the scripts with the installed kubectl, of any version.
func TestSystemKubectl(t *testing.T) {
	path, err := exec.LookPath("kubectl")
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no kubectl is installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	playScripts(t, path)
}

// playScripts plays each script of testdata/kubectl with a server and a home
// directory of its own.
func playScripts(t *testing.T, kubectl string) {
	minor := clientMinor(t, kubectl)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/kubectl",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			server, err := process.Start(t.Context(), process.Options{
				Binary:  programs.Server(),
				DataDir: filepath.Join(env.WorkDir, ".data"),
			})
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := server.Stop(); err != nil {
					env.T().Log(server.Output())
					env.T().Fatal("the server did not stop cleanly: ", err)
				}
			})
			if err := linkAs(kubectl, filepath.Join(env.WorkDir, ".bin", "kubectl")); err != nil {
				return err
			}
			env.Setenv("PATH", filepath.Join(env.WorkDir, ".bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KUBECONFIG", server.Kubeconfig)
			env.Setenv("SAMPLES", filepath.Join(programs.Root(), "config", "samples"))
			return nil
		},
		// [minor:37] is true for kubectl 1.37 and newer.
		Condition: func(condition string) (bool, error) {
			var wanted int
			if _, err := fmt.Sscanf(condition, "minor:%d", &wanted); err != nil {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return minor >= wanted, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wants": wants},
	})
}

// wants compares the output of the last command with a file of the script. It ignores the amount of white space;
// "..." in a line matches anything, and a line "..." any number of lines.
func wants(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wants file")
	}
	want := ts.ReadFile(args[0])
	got := ts.ReadFile("stdout")
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, " \n")
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		words := strings.Fields(line)
		for i, word := range words {
			parts := strings.Split(word, "...")
			for j := range parts {
				parts[j] = regexp.QuoteMeta(parts[j])
			}
			words[i] = strings.Join(parts, `.*`)
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		fmt.Fprintf(&pattern, `[ ]{%d}%s[ \t]*\n`, indent, strings.Join(words, `[ \t]+`))
	}
	pattern.WriteString(`$`)
	if !regexp.MustCompile(pattern.String()).MatchString(strings.TrimRight(got, "\n") + "\n") {
		ts.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// linkAs links a program at another path.
func linkAs(program, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(program, path)
}

// clientMinor returns the minor version of a kubectl.
func clientMinor(t *testing.T, kubectl string) int {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), kubectl, "version", "--client").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(printed), "Client Version: v%d.%d", &major, &minor); err != nil {
		t.Fatalf("no version in %q: %v", printed, err)
	}
	return minor
}
