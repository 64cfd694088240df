package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/crd-server/crd-server/test/outcome"
)

// expectation is what kube-apiserver does in one top-level test.
type expectation struct {
	// passed is how many tests without subtests pass; the test itself, if it has none.
	passed int
	// others are the tests that fail or are skipped, by name.
	others map[string]outcome.State
}

// fails says whether a part of the test fails.
func (e expectation) fails() bool {
	for _, state := range e.others {
		if state == outcome.Failed {
			return true
		}
	}
	return false
}

// baseline is the results with kube-apiserver, by package and top-level test.
type baseline map[string]map[string]expectation

// readBaseline reads results.txt. A line has a package, a test and a number of tests that pass, or a state.
func readBaseline(path string) (baseline, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return baseline{}, nil
	}
	if err != nil {
		return nil, err
	}
	read := baseline{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: %d words, not 3", path, number, len(fields))
		}
		if err := read.add(fields[0], fields[1], fields[2]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return read, lines.Err()
}

func (b baseline) add(pkg, name, result string) error {
	top, _, _ := strings.Cut(name, "/")
	if b[pkg] == nil {
		b[pkg] = map[string]expectation{}
	}
	e, known := b[pkg][top]
	if !known {
		e.others = map[string]outcome.State{}
	}
	switch state := outcome.State(result); state {
	case outcome.Failed, outcome.Skipped:
		e.others[name] = state
	default:
		if _, err := fmt.Sscanf(result, "%d", &e.passed); err != nil {
			return fmt.Errorf("neither a number nor a state: %q", result)
		}
	}
	b[pkg][top] = e
	return nil
}

// set replaces the results of the top-level tests that have run.
func (b baseline) set(pkg string, tests []outcome.Test) {
	fresh := map[string]expectation{}
	for _, t := range leaves(tests) {
		top, _, _ := strings.Cut(t.Name, "/")
		e, known := fresh[top]
		if !known {
			e.others = map[string]outcome.State{}
		}
		if t.State == outcome.Passed {
			e.passed++
		} else {
			e.others[t.Name] = t.State
		}
		fresh[top] = e
	}
	if b[pkg] == nil {
		b[pkg] = map[string]expectation{}
	}
	for top, e := range fresh {
		b[pkg][top] = e
	}
}

// leaves returns the tests without subtests, and the tests that fail although no subtest does.
func leaves(tests []outcome.Test) []outcome.Test {
	var found []outcome.Test
	for _, t := range tests {
		if !t.Parent || t.State == outcome.Failed && !slices.ContainsFunc(tests, func(sub outcome.Test) bool {
			return sub.State == outcome.Failed && strings.HasPrefix(sub.Name, t.Name+"/")
		}) {
			found = append(found, t)
		}
	}
	return found
}

const baselineHeader = `# The integration tests of Kubernetes with kube-apiserver in a process of its own, written by
# go run ./kubernetes -server kube-apiserver -update.
# A line has a package, a top-level test, and how many tests in it pass; or a test that is skipped or fails.
`

// write writes results.txt.
func (b baseline) write(path string) error {
	var lines []string
	for pkg, tests := range b {
		for top, e := range tests {
			if e.passed > 0 {
				lines = append(lines, fmt.Sprintf("%s %s %d", pkg, top, e.passed))
			}
			for name, state := range e.others {
				lines = append(lines, fmt.Sprintf("%s %s %s", pkg, name, state))
			}
		}
	}
	slices.Sort(lines)
	return os.WriteFile(path, []byte(baselineHeader+strings.Join(lines, "\n")+"\n"), 0o644)
}
