package outcome

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// ginkgoRuns is in the output of the function that runs the specs of a Ginkgo suite. It is not a test of its own.
const ginkgoRuns = "Running Suite: "

// testEvent is an event of test2json (go doc test2json).
type testEvent struct {
	Action, Test, Output string
}

// Read reads the tests from what a binary has printed.
func Read(ctx context.Context, log string) ([]Test, error) {
	printed, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer printed.Close()
	command := exec.CommandContext(ctx, "go", "tool", "test2json")
	command.Stdin, command.Stderr = printed, os.Stderr
	events, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	return Decode(bytes.NewReader(events))
}

// ErrUnfinished is returned if a test has begun and not ended: the binary crashed, or ran into its timeout.
var ErrUnfinished = errors.New("the tests did not end")

// Decode returns the tests in the order in which they began. If the last of them have not ended it returns
// ErrUnfinished, and the others.
func Decode(events io.Reader) ([]Test, error) {
	decoder := json.NewDecoder(events)
	var order []string
	tests := map[string]*Test{}
	suites := map[string]bool{}
	for {
		var event testEvent
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("events of test2json: %w", err)
		}
		if event.Test == "" {
			continue
		}
		t, known := tests[event.Test]
		if !known {
			t = &Test{Name: event.Test}
			tests[event.Test], order = t, append(order, event.Test)
			markParents(tests, event.Test)
		}
		switch event.Action {
		case "pass":
			t.State, t.Message = Passed, ""
		case "fail":
			t.State = Failed
		case "skip":
			t.State = Skipped
		case "output":
			suites[event.Test] = suites[event.Test] || strings.HasPrefix(event.Output, ginkgoRuns)
			t.Message += event.Output
		}
	}
	return ended(order, tests, suites)
}

// markParents marks the tests that a subtest belongs to.
func markParents(tests map[string]*Test, name string) {
	for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name, '/') {
		name = name[:at]
		if parent, known := tests[name]; known {
			parent.Parent = true
		}
	}
}

// ended returns the tests that have ended, without those that run a Ginkgo suite.
func ended(order []string, tests map[string]*Test, suites map[string]bool) ([]Test, error) {
	var found []Test
	var err error
	for _, name := range order {
		switch t := tests[name]; {
		case suites[name]:
		case t.State == "":
			err = ErrUnfinished
		default:
			if t.State != Failed {
				t.Message = ""
			}
			found = append(found, *t)
		}
	}
	return found, err
}
