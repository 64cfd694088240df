package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/crd-server/crd-server/internal/server"
)

// asCommand makes the test binary run as the command.
const asCommand = "CRD_SERVER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "KUBECONFIG=")
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func TestAbout(t *testing.T) {
	for flag, want := range map[string]string{
		"--version": "crd-server ",
		"--help":    "crd-server serves the Kubernetes API for custom resources",
		"-h":        "crd-server serves the Kubernetes API for custom resources",

		"version":               "crd-server ",
		"help":                  "crd-server serves the Kubernetes API for custom resources",
		"help version":          "Print the version\n",
		"help envtest":          "Make a folder for KUBEBUILDER_ASSETS,",
		"user":                  "Add, list and remove users of a running server.\n",
		"user add --help":       "Write a kubeconfig with a client certificate for a user\n",
		"help user remove":      "Refuse the client certificates of a user:",
		"__complete user re":    "remove\tRefuse",
		"man":                   ".nh\n.TH \"CRD-SERVER\" \"1\"",
		"completion bash":       "# bash completion",
		"completion zsh":        "#compdef crd-server",
		"completion fish":       "# fish completion",
		"completion powershell": "# powershell completion",
		"__complete --data-d":   "--data-dir",
	} {
		cmd, stdout, stderr := command(t, strings.Fields(flag)...)
		err := cmd.Run()
		quiet := stderr.Len() == 0 || strings.HasPrefix(flag, "__") // completions say how they end
		if err != nil || !quiet || !strings.HasPrefix(stdout.String(), want) {
			t.Errorf("%s: %v\n%s%s", flag, err, stdout, stderr)
		}
		if entries, err := os.ReadDir(cmd.Dir); err != nil || len(entries) > 0 {
			t.Errorf("%s wrote %v %v", flag, entries, err)
		}
	}
}

// TestFailureIsOneLine checks that usual mistakes lead to an error of one line and exit code 1.
func TestFailureIsOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // after the parallel tests
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("kind: Secret\napiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"--nonsense", "crd-server: unknown flag: --nonsense\n"},
		{"--data-dri x", "crd-server: unknown flag: --data-dri; did you mean --data-dir?\n"},
		{"--port 1", "crd-server: unknown flag: --port; did you mean --secure-port?\n"},
		{"version --data-dir x", "crd-server: unknown flag: --data-dir\n"},
		{"serve", `crd-server: unexpected argument "serve": `},
		{"verison", `crd-server: unexpected argument "verison": crd-server takes flags only, ` +
			`or one of its commands; did you mean version?`},
		{"check", "crd-server: crd-server check takes files and directories: crd-server check PATH [PATH...]\n"},
		{"user lst", `crd-server: unexpected argument "lst": crd-server user takes one of its commands; did you mean list?`},
		{"user add", "crd-server: crd-server user add takes one name, not 0: crd-server user add NAME [flags]\n"},
		{"user add jane --gruop x", "crd-server: unknown flag: --gruop; did you mean --group?\n"},
		{"user add system:jane", `crd-server: user "system:jane" belongs to the system and cannot be added`},
		{"user add jane --expires 1s", "crd-server: --expires must be a minute or longer, not 1s\n"},
		{"user list", "crd-server: data dir crd-server.data has no admin.kubeconfig: run this where the server runs, "},
		{"user token bot --expires -1h", "crd-server: "},
		{"--secure-port x", `crd-server: invalid argument "x" for "--secure-port" flag: `},
		{"--secure-port 99999", "crd-server: --secure-port must be between 0 and 65535, not 99999\n"},
		{"--feature-gates Nonsense=true", `crd-server: --feature-gates: unknown feature "Nonsense"`},
		{"--secure-port " + port, "crd-server: port " + port + " is taken: "},
		{"--secure-port 0 --data-dir " + file + "/data", "crd-server: data dir " + file + "/data is not writable: "},
		{"--secure-port 0 --client-ca-file " + file,
			"crd-server: --client-ca-file " + file + ": certificate is unreadable: "},
		{"--secure-port 0 --crds " + file, "crd-server: --crds: " + file + ", document 1: "},
		{"--secure-port 0 --etcd-servers http://127.0.0.1:1", "crd-server: etcd is unreachable at http://127.0.0.1:1: "},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			cmd, stdout, stderr := command(t, strings.Fields(test.args)...)
			_ = cmd.Run() // the exit code is looked at
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if got := stderr.String(); !strings.HasPrefix(got, test.want) || strings.Count(got, "\n") != 1 || stdout.Len() > 0 {
				t.Errorf("got %q, %q", got, stdout)
			}
			if entries, err := os.ReadDir(cmd.Dir); err != nil || len(entries) > 0 {
				t.Errorf("wrote %v %v", entries, err)
			}
		})
	}
}

// TestEnvironment checks that variables stand for flags, and that flags take precedence.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ variables, args, want string }{
		{"CRD_SERVER_SECURE_PORT=99999", "", "--secure-port must be between 0 and 65535, not 99999"},
		{"CRD_SERVER_SECURE_PORT=99999", "--secure-port 99998", "--secure-port must be between 0 and 65535, not 99998"},
		{"CRD_SERVER_CRDS=nowhere", "", "--crds: "},
		{"CRD_SERVER_SECURE_PORT=x CRD_SERVER_CRDS=", "", `invalid value "x" of CRD_SERVER_SECURE_PORT: `},
		{"CRD_SERVER_DATADIR=x", "--secure-port -1", "CRD_SERVER_DATADIR is ignored; did you mean CRD_SERVER_DATA_DIR?"},
		{"CRD_SERVER_PORT=tcp://10.0.0.1:443 CRD_SERVER_SERVICE_HOST=10.0.0.1", "--secure-port -1", "--secure-port must be "},
	} {
		cmd, _, stderr := command(t, strings.Fields(test.args)...)
		cmd.Env = append(cmd.Env, strings.Fields(test.variables)...)
		_ = cmd.Run() // the output is looked at
		if !strings.HasPrefix(stderr.String(), "crd-server: "+test.want) || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: got %q", test.variables, stderr)
		}
	}
}

// TestHelp checks that the help is not wide, and has each flag once, the most used ones first.
func TestHelp(t *testing.T) {
	t.Parallel()
	var help bytes.Buffer
	root := newCommand(server.NewOptions())
	root.SetArgs([]string{"--help"})
	root.SetOut(&help)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		"Usage:\n  crd-server [flags]", "\n  completion ", "\n  envtest ", "\n  help ", "\n  man ", "\n  user ",
		"\n  version ",
		"Most used flags:", "--data-dir path", "-v, --v", "Secure serving flags:", "Etcd flags:", "Logs flags:",
	} {
		next := strings.Index(help.String()[at:], part)
		if next < 0 {
			t.Fatalf("help lacks %q, or it is not in order:\n%s", part, &help)
		}
		at += next
	}
	checkLines(t, help.String())
	root.Flags().VisitAll(func(flag *pflag.Flag) {
		found := regexp.MustCompile(`(?m)^(      |  -., )--`+flag.Name+`\b[^-]`).FindAllString(help.String(), -1)
		if len(found) != 1 && !flag.Hidden {
			t.Errorf("--%s is %d times in the help", flag.Name, len(found))
		}
	})
}

// TestHelpOfKubeAPIServer checks the lines of the help of a server that acts as kube-apiserver, and of its usage.
func TestHelpOfKubeAPIServer(t *testing.T) {
	t.Parallel()
	var help bytes.Buffer
	command := newKubeAPIServer(server.NewOptions())
	command.SetOut(&help)
	command.SetErr(&help)
	if err := errors.Join(command.Help(), command.Usage()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"Usage:\n  kube-apiserver [flags]\n", "Secure serving flags:", "--etcd-servers strings\n",
	} {
		if strings.Count(help.String(), part) != 2 {
			t.Errorf("help and usage lack %q:\n%s", part, &help)
		}
	}
	checkLines(t, help.String())
}

// checkLines checks that lines are not wide, and do not end in spaces.
func checkLines(t *testing.T, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if len(line) > maxColumns+1 || strings.HasSuffix(line, " \n") {
			t.Errorf("a line is long, or ends in a space: %q", line)
		}
	}
}

// startServer starts a server and returns when it is ready, with all it has printed.
func startServer(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, _, stderr := command(t, append([]string{"--secure-port", "0"}, args...)...)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "export KUBECONFIG=") {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // after that, nothing writes to stderr
		t.Fatalf("not ready: %q %v %s", line, err, stderr)
	}
	return cmd, stderr
}

func TestTermStopsCleanly(t *testing.T) {
	cmd, stderr := startServer(t)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("ended with %v: %s", err, stderr)
	}
}

// TestLogs checks that a server logs a created CRD in one line and is quiet otherwise, and that it can log JSON.
func TestLogs(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Abs("../../config/samples/crontabs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		cmd, stderr := startServer(t, "--crds", samples, "--logging-format", format)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("ended with %v: %s", err, stderr)
		}
		created := 0
		for line := range strings.Lines(stderr.String()) {
			if format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
			if strings.Contains(line, "Created CustomRes") && strings.Contains(line, "crontabs.stable.example.com") {
				created++
			} else if format == "text" {
				t.Errorf("logged %s", line)
			}
		}
		if created != 1 {
			t.Errorf("%s: the CRD was logged %d times: %s", format, created, stderr)
		}
	}
}

func TestSecondTermStopsAtOnce(t *testing.T) {
	cmd, _ := startServer(t, "--shutdown-delay-duration", "1h")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for signals := 0; ; {
		select {
		case err := <-ended:
			if signals < 2 || err == nil {
				t.Errorf("ended after %d signals with %v", signals, err)
			}
			return
		case <-again.C: // a signal that arrives before the first was handled is not a second one
			if err := cmd.Process.Signal(syscall.SIGTERM); err == nil {
				signals++
			}
		}
	}
}
