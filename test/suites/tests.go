package main

// test is one test: a spec of Ginkgo, or a function or subtest of Go.
type test struct {
	// Name is unique in its package.
	Name string
	// Spec says that the test is a spec of Ginkgo.
	Spec bool
	// State is passed, failed or skipped.
	State state
	// Repeated says that the test passed when it was repeated.
	Repeated bool
	// Parent says that the test has subtests, so it is not counted.
	Parent bool
	// Message has the first lines of the failure.
	Message string
	// Text is the name without what makes it unique, if that is different.
	Text string
}

// state is how a test ended.
type state string

const (
	passed  state = "passed"
	failed  state = "failed"
	skipped state = "skipped"
)

func (t test) text() string {
	if t.Text != "" {
		return t.Text
	}
	return t.Name
}

// failing returns the tests that failed.
func failing(tests []test) []test {
	var found []test
	for _, t := range tests {
		if t.State == failed {
			found = append(found, t)
		}
	}
	return found
}

// withRepeated returns the tests of the first run. Those that failed there and passed when repeated count as passed.
func withRepeated(first, repeated []test) []test {
	again := byName(repeated)
	merged := make([]test, len(first))
	for i, t := range first {
		if t.State == failed && again[t.Name].State == passed {
			t.State, t.Repeated = passed, true
		}
		merged[i] = t
	}
	return merged
}

// count returns how many tests ran, and how many of them passed. Tests with subtests are not counted.
func count(tests []test) (ran, pass int) {
	for _, t := range tests {
		if t.Parent || t.State == skipped {
			continue
		}
		ran++
		if t.State == passed {
			pass++
		}
	}
	return ran, pass
}

func byName(tests []test) map[string]test {
	named := make(map[string]test, len(tests))
	for _, t := range tests {
		named[t.Name] = t
	}
	return named
}
