package fault

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/programs"
)

var (
	full = flag.Bool("full", false, "run the scenarios in full, not in their short form")
	seed = flag.Uint64("seed", 0, "what the scenarios' choices follow from; one by the clock if it is 0")
)

// builds is the folder of binaries that these tests build.
var builds string

// TestMain runs the tests and writes the report, or does a task as a child process.
func TestMain(m *testing.M) {
	if encoded := os.Getenv(taskVariable); encoded != "" {
		if err := runTask(encoded); err != nil {
			fmt.Fprintln(os.Stderr, "fault:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	if err := programs.CheckServer(); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "crd-server-fault-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	builds = dir
	return m.Run(), written.write()
}

// raceDetector returns whether the server under test was built with the race detector, which needs much more memory.
func raceDetector() bool { return programs.BuiltWith("-race") == "true" }

// libraries returns whether the server under test only calls the libraries. They take more memory, so it refuses more.
func libraries() bool { return programs.BuiltWith("-tags") == "library" }

// size returns the size of something in the short or in the full form.
func size[T any](short, whole T) T {
	if *full {
		return whole
	}
	return short
}

// besideOthers runs the short form of a scenario in parallel with others. The full form has the machine for itself.
func besideOthers(t *testing.T) {
	if !*full {
		t.Parallel()
	}
}

// choices returns the source of random choices of a scenario, for one goroutine; nth distinguishes several.
func choices(t *testing.T, nth int) *rand.Rand {
	var name uint64
	for _, letter := range []byte(t.Name()) {
		name = name*31 + uint64(letter)
	}
	return rand.New(rand.NewPCG(*seed, name+uint64(nth)))
}

// pause waits a while, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// reportFile is the path of the report.
var reportFile = filepath.Join("..", "..", "build", "fault", "report.md")

// written is the report of this run.
var written report

// report collects the results of scenarios.
type report struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// add adds a line to the report and logs it.
func (r *report) add(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("- %s: %s", t.Name(), line))
}

// text adds text of several lines to the report and logs it.
func (r *report) text(t *testing.T, text string) {
	t.Helper()
	t.Log("\n" + text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, "", strings.TrimSuffix(text, "\n"), "")
}

// outcome adds whether the scenario has passed.
func (r *report) outcome(t *testing.T, began time.Time) {
	result := "passed"
	if t.Failed() {
		result = "FAILED"
	}
	r.add(t, "%s after %s", result, time.Since(began).Round(time.Second))
}

func (r *report) write() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == 0 {
		return nil
	}
	form := size("short", "full")
	head := fmt.Sprintf("Faults, %s, %s form, seed %d\n\n", time.Now().UTC().Format(time.RFC3339), form, *seed)
	if err := os.MkdirAll(filepath.Dir(reportFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(reportFile, []byte(head+strings.Join(r.lines, "\n")+"\n"), 0o644)
}
