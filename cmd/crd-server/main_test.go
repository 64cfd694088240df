package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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
		"--help":    "crd-server serves Kubernetes custom resources",
		"-h":        "crd-server serves Kubernetes custom resources",
	} {
		cmd, stdout, stderr := command(t, flag)
		if err := cmd.Run(); err != nil || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), want) {
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

// serve starts a server and returns when it is ready, with all it has printed.
func serve(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
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
	cmd, stderr := serve(t)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("ended with %v: %s", err, stderr)
	}
}

func TestSecondTermStopsAtOnce(t *testing.T) {
	cmd, _ := serve(t, "--shutdown-delay-duration", "1h")
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
