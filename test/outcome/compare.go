package outcome

import "strings"

// Regressions returns the tests that pass in the baseline and do not pass in the other run. It adds the failures of
// tests that the baseline does not have, such as AfterSuite.
func Regressions(baseline, other []Test) []Test {
	results, before := ByName(other), ByName(baseline)
	var found []Test
	for _, b := range baseline {
		if t, ran := results[b.Name]; b.State == Passed && t.State != Passed {
			found = append(found, explained(b.Name, t, ran))
		}
	}
	for _, t := range Failing(other) {
		if _, known := before[t.Name]; !known {
			found = append(found, t)
		}
	}
	return WithoutParents(found)
}

// explained returns a test that should have passed, with the reason why it has not.
func explained(name string, t Test, ran bool) Test {
	switch {
	case !ran:
		return Test{Name: name, Message: "it was not run"}
	case t.State == Skipped:
		t.Message = "it was skipped"
	}
	return t
}

// WithoutParents leaves out the tests whose subtests are in the list too.
func WithoutParents(tests []Test) []Test {
	var leaves []Test
	for _, t := range tests {
		if !hasSubtest(tests, t) {
			leaves = append(leaves, t)
		}
	}
	return leaves
}

func hasSubtest(tests []Test, parent Test) bool {
	for _, t := range tests {
		if !t.Spec && !parent.Spec && strings.HasPrefix(t.Name, parent.Name+"/") {
			return true
		}
	}
	return false
}
