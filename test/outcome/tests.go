package outcome

// Test is one test: a spec of Ginkgo, or a function or subtest of Go.
type Test struct {
	// Name is unique in its package.
	Name string
	// Spec says that the test is a spec of Ginkgo.
	Spec bool
	// State is passed, failed or skipped.
	State State
	// Repeated says that the test passed when it was repeated.
	Repeated bool
	// Parent says that the test has subtests, so it is not counted.
	Parent bool
	// Message has the first lines of the failure.
	Message string
	// Text is the name without what makes it unique, if that is different.
	Text string
}

// State is how a test ended.
type State string

// The states.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Focus is the text that selects a spec of Ginkgo.
func (t Test) Focus() string {
	if t.Text != "" {
		return t.Text
	}
	return t.Name
}

// Failing returns the tests that failed.
func Failing(tests []Test) []Test {
	var found []Test
	for _, t := range tests {
		if t.State == Failed {
			found = append(found, t)
		}
	}
	return found
}

// WithRepeated returns the tests of the first run. Those that failed there and passed when repeated count as passed.
func WithRepeated(first, repeated []Test) []Test {
	again := ByName(repeated)
	merged := make([]Test, len(first))
	for i, t := range first {
		if t.State == Failed && again[t.Name].State == Passed {
			t.State, t.Repeated = Passed, true
		}
		merged[i] = t
	}
	return merged
}

// Count returns how many tests ran, and how many of them passed. Tests with subtests are not counted.
func Count(tests []Test) (ran, pass int) {
	for _, t := range tests {
		if t.Parent || t.State == Skipped {
			continue
		}
		ran++
		if t.State == Passed {
			pass++
		}
	}
	return ran, pass
}

// ByName returns the tests by their names.
func ByName(tests []Test) map[string]Test {
	named := make(map[string]Test, len(tests))
	for _, t := range tests {
		named[t.Name] = t
	}
	return named
}
