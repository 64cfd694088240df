package main

import "strings"

// regressions returns the tests that pass in the baseline and do not pass in the other run. It adds the failures of
// tests that the baseline does not have, such as AfterSuite.
func regressions(baseline, other []test) []test {
	results, before := byName(other), byName(baseline)
	var found []test
	for _, b := range baseline {
		if t, ran := results[b.Name]; b.State == passed && t.State != passed {
			found = append(found, explained(b.Name, t, ran))
		}
	}
	for _, t := range failing(other) {
		if _, known := before[t.Name]; !known {
			found = append(found, t)
		}
	}
	return withoutParents(found)
}

// explained returns a test that should have passed, with the reason why it has not.
func explained(name string, t test, ran bool) test {
	switch {
	case !ran:
		return test{Name: name, Message: "it was not run"}
	case t.State == skipped:
		t.Message = "it was skipped"
	}
	return t
}

// withoutParents leaves out the tests whose subtests are in the list too.
func withoutParents(tests []test) []test {
	var leaves []test
	for _, t := range tests {
		if !hasSubtest(tests, t) {
			leaves = append(leaves, t)
		}
	}
	return leaves
}

func hasSubtest(tests []test, parent test) bool {
	for _, t := range tests {
		if !t.Spec && !parent.Spec && strings.HasPrefix(t.Name, parent.Name+"/") {
			return true
		}
	}
	return false
}
