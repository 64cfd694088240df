package main

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

// goTests reads the tests from what a binary has printed.
func goTests(ctx context.Context, log string) ([]test, error) {
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
	return decodeEvents(bytes.NewReader(events))
}

// errUnfinished is returned if a test has begun and not ended: the binary crashed, or ran into its timeout.
var errUnfinished = errors.New("the tests did not end")

// decodeEvents returns the tests in the order in which they began. If the last of them have not ended it returns
// errUnfinished, and the others.
func decodeEvents(events io.Reader) ([]test, error) {
	decoder := json.NewDecoder(events)
	var order []string
	tests := map[string]*test{}
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
			t = &test{Name: event.Test}
			tests[event.Test], order = t, append(order, event.Test)
			markParents(tests, event.Test)
		}
		switch event.Action {
		case "pass":
			t.State, t.Message = passed, ""
		case "fail":
			t.State = failed
		case "skip":
			t.State = skipped
		case "output":
			suites[event.Test] = suites[event.Test] || strings.HasPrefix(event.Output, ginkgoRuns)
			t.Message += event.Output
		}
	}
	return ended(order, tests, suites)
}

// markParents marks the tests that a subtest belongs to.
func markParents(tests map[string]*test, name string) {
	for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name, '/') {
		name = name[:at]
		if parent, known := tests[name]; known {
			parent.Parent = true
		}
	}
}

// ended returns the tests that have ended, without those that run a Ginkgo suite.
func ended(order []string, tests map[string]*test, suites map[string]bool) ([]test, error) {
	var found []test
	var err error
	for _, name := range order {
		switch t := tests[name]; {
		case suites[name]:
		case t.State == "":
			err = errUnfinished
		default:
			if t.State != failed {
				t.Message = ""
			}
			found = append(found, *t)
		}
	}
	return found, err
}
