package crdservertest

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// kept is how many lines of the log of a server are kept for the case that its test fails.
const kept = 50

// testLog takes the log of one server, and writes it to the log of the test: at once, or at the end of a test that has
// failed, and never after the test.
type testLog struct {
	t         testing.TB
	verbosity int

	mu    sync.Mutex // guards the fields below
	lines []string   // the last ones
	rest  []byte     // a line that is not complete
	ended bool
}

func newTestLog(t testing.TB, verbosity int) *testLog { return &testLog{t: t, verbosity: verbosity} }

// logger returns a logger that writes to l.
func (l *testLog) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.add(strings.TrimSpace(prefix + " " + args))
	}, funcr.Options{Verbosity: max(l.verbosity, 0)})
}

// Write implements io.Writer for the log of a process.
func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	lines := bytes.Split(append(l.rest, p...), []byte("\n"))
	l.rest = bytes.Clone(lines[len(lines)-1])
	l.mu.Unlock()
	for _, line := range lines[:len(lines)-1] {
		l.add(string(line))
	}
	return len(p), nil
}

// add adds a line.
func (l *testLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if l.verbosity >= 0 {
		l.t.Log(line)
	}
	if l.lines = append(l.lines, line); len(l.lines) > kept {
		l.lines = l.lines[1:]
	}
}

// last returns the last line.
func (l *testLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return "it said nothing"
	}
	return l.lines[len(l.lines)-1]
}

// end writes the kept lines if the test has failed, and nothing more from then on.
func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.verbosity < 0 && l.t.Failed() && len(l.lines) > 0 {
		l.t.Logf("crdservertest: the end of the server's log:\n%s", strings.Join(l.lines, "\n"))
	}
}
