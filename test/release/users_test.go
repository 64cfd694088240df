package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newRepository returns the directory of a project in the layout of kubebuilder, with a CRD and a sample.
func newRepository(t *testing.T, sample string) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range map[string][]byte{
		"config/crd/bases/crontabs.yaml":    readProject(t, "config/samples/crontabs.yaml"),
		"config/samples/crontab.yaml":       []byte(sample),
		"config/samples/kustomization.yaml": []byte("resources: [crontab.yaml]\n"),
	} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	beginning     = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"
	validSample   = beginning + "spec: {cronSpec: '* * * * *', image: a}\n"
	invalidSample = beginning + "spec: {cronSpec: '* * * * *'}\n"
	wantValid     = "1 CRD and 1 object are valid\n"
	wantInvalid   = "config/samples/crontab.yaml:1: CronTab a: spec.image: Required value\n"
)

// TestHook checks that the hook of pre-commit calls a command that this program has.
func TestHook(t *testing.T) {
	t.Parallel()
	var hooks []struct {
		ID, Name, Language, Entry string
		Args                      []string
		PassFilenames             *bool `json:"pass_filenames"`
	}
	if err := yaml.Unmarshal(readProject(t, ".pre-commit-hooks.yaml"), &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 1 || hooks[0].ID != "crd-server-check" || hooks[0].Language != "golang" ||
		hooks[0].PassFilenames == nil || *hooks[0].PassFilenames {
		t.Fatalf("hooks: %+v", hooks)
	}
	program, arguments, _ := strings.Cut(hooks[0].Entry, " ")
	if program != "crd-server" {
		t.Errorf("the hook calls %s", program)
	}
	for _, test := range []struct{ sample, want string }{{validSample, wantValid}, {invalidSample, wantInvalid}} {
		command := exec.CommandContext(t.Context(), programs.Server(), append(strings.Fields(arguments), hooks[0].Args...)...)
		command.Dir = newRepository(t, test.sample)
		output, err := command.CombinedOutput()
		if (err == nil) != (test.want == wantValid) || !strings.HasPrefix(string(output), test.want) {
			t.Errorf("%v\n%s", err, output)
		}
	}
}

// action is what the tests need of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Shell, Run string
			Env        map[string]string
		}
	}
}

// TestAction runs the script of the action as GitHub does, with a release in a directory.
func TestAction(t *testing.T) {
	t.Parallel()
	var a action
	if err := yaml.Unmarshal(readProject(t, "action.yml"), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Runs.Steps) != 1 || a.Runs.Steps[0].Shell != "bash" {
		t.Fatalf("steps: %+v", a.Runs.Steps)
	}
	releases, version := t.TempDir(), nextVersion(t)
	writeRelease(t, filepath.Join(releases, version), false)
	for _, test := range []struct {
		name, sample string
		inputs       map[string]string
		want         string // prefix of the output
		err          bool
	}{
		{name: "valid", sample: validSample, want: wantValid},
		{name: "invalid", sample: invalidSample, want: wantInvalid, err: true},
		{name: "only installed", sample: invalidSample, inputs: map[string]string{"paths": ""}},
		{name: "some paths", sample: validSample, want: wantValid,
			inputs: map[string]string{"paths": "config/crd config/samples/crontab.yaml"}},
		{name: "no such release", inputs: map[string]string{"version": "v0.0.1"}, want: "curl: ", err: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output, added, err := a.run(t, releases, newRepository(t, test.sample), test.inputs)
			if (err != nil) != test.err || !strings.HasPrefix(output, test.want) || test.want == "" && output != "" {
				t.Errorf("%v\n%s", err, output)
			}
			if _, err := os.Stat(filepath.Join(added, "crd-server")); err != nil && test.name != "no such release" {
				t.Errorf("later steps cannot use crd-server: %v", err)
			}
		})
	}
	t.Run("changed archive", func(t *testing.T) {
		t.Parallel()
		releases := t.TempDir()
		writeRelease(t, filepath.Join(releases, version), true)
		output, _, err := a.run(t, releases, newRepository(t, validSample), nil)
		if err == nil || !strings.Contains(output, "FAILED") {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// run runs the action in a workspace. added is the directory that later steps have in their path.
func (a *action) run(
	t *testing.T, releases, workspace string, inputs map[string]string,
) (output, added string, err error) {
	t.Helper()
	temp := t.TempDir()
	path := filepath.Join(temp, "path")
	command := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c",
		a.Runs.Steps[0].Run)
	command.Dir = workspace
	command.Env = append(os.Environ(),
		"CRD_SERVER_RELEASES=file://"+releases, "GITHUB_ACTION_PATH="+programs.Root(), "GITHUB_WORKSPACE="+workspace,
		"GITHUB_PATH="+path, "RUNNER_TEMP="+temp,
		"RUNNER_OS="+map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS],
		"RUNNER_ARCH="+map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH])
	for variable, expression := range a.Runs.Steps[0].Env {
		input := strings.TrimSuffix(strings.TrimPrefix(expression, "${{ inputs."), " }}")
		value, set := inputs[input]
		if !set {
			value = a.Inputs[input].Default
		}
		command.Env = append(command.Env, variable+"="+value)
	}
	printed, err := command.CombinedOutput()
	directory, _ := os.ReadFile(path) // the action may have failed before it wrote it
	return string(printed), strings.TrimSpace(string(directory)), err
}

// writeRelease writes a release for this platform: an archive with a script that calls the server under test, and the
// checksum of that archive or, if it was changed since, of another one.
func writeRelease(t *testing.T, dir string, changed bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", programs.Server())
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	err := files.WriteHeader(&tar.Header{Name: "crd-server", Mode: 0o755, Size: int64(len(script))})
	if err == nil {
		_, err = files.Write([]byte(script))
	}
	if err = errors.Join(err, files.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("crd-server-%s-%s-%s.tar.gz", nextVersion(t), runtime.GOOS, runtime.GOARCH)
	sum := sha256.Sum256(archive.Bytes())
	if changed {
		sum = sha256.Sum256(nil)
	}
	for file, content := range map[string][]byte{
		name:            archive.Bytes(),
		"checksums.txt": fmt.Appendf(nil, "%x  other\n%x  %s\n", sum, sum, name),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
