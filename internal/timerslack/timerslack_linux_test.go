package timerslack

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slackOf reads the slack of any thread of the process, which needs privileges.
func slackOf(t *testing.T, thread string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", thread, "timerslack_ns"))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the slack of other threads is not to be read here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	slack, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(slack)
}

// TestMonitor: this program has been started anew, by the time its tests run.
func TestMonitor(t *testing.T) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	relaxed := 0
	for _, thread := range threads {
		if slackOf(t, thread.Name()) == monitorSlack {
			relaxed++
		}
	}
	if relaxed == 0 {
		t.Error("no thread has more slack than usual")
	}
}

// TestOtherThreads: threads that run goroutines have the slack that the program was started with, but for one that was not found. With cgo, the runtime
// has a thread from the beginning by which it may start another one.
func TestOtherThreads(t *testing.T) {
	const threads, most = 8, 2 // fewer than there are: none has to be started for the test
	var relaxed atomic.Int32
	holdThreads(threads, func() {
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			t.Error(err)
		}
		if slack >= int(monitorSlack) {
			relaxed.Add(1)
		}
	})
	if relaxed.Load() > most {
		t.Errorf("%d of %d threads have more slack than usual", relaxed.Load(), threads)
	}
}

// TestStartedAnew: arguments, environment, process and exit code are those of a program that was started once; whatever is in our variable, it is started
// once, and nobody sees the variable.
func TestStartedAnew(t *testing.T) {
	if os.Getenv("TIMERSLACK_TEST") != "" {
		value, seen := os.LookupEnv(before)
		t.Fatalf("greeting %s, process %d, variable %t %q", os.Getenv("TIMERSLACK_TEST"), os.Getpid(), seen, value)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, variables := range map[string][]string{
		"by a user":       nil,
		"who has decided": {before + "=50000"},
		"with no number":  {before + "=nonsense"},
		"with no content": {before + "="},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), program, "-test.run=^TestStartedAnew$")
			command.Env = append(append(os.Environ(), "TIMERSLACK_TEST=hello"), variables...)
			printed, err := command.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%v", err)
			}
			if want := "greeting hello, process " + strconv.Itoa(command.Process.Pid) + ", variable false"; !strings.Contains(string(printed), want) {
				t.Errorf("printed %s, want %s", printed, want)
			}
		})
	}
}
