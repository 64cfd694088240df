// Package outcome has the results of tests: it reads them from what a Go test binary has printed (Read), and finds the
// tests that pass with one server and not with the other (Regressions).
package outcome
