package main

import (
	"fmt"
	"strings"

	"github.com/crd-server/crd-server/test/outcome"
)

// comparison is the results of a package against both servers. One of them may be empty.
type comparison struct {
	name            string
	baseline, other result
}

// failures returns what only kube-apiserver passes. Without a result of kube-apiserver it returns what fails.
func (c comparison) failures() []outcome.Test {
	if c.baseline.Server == "" {
		return outcome.WithoutParents(outcome.Failing(c.other.Tests))
	}
	if c.other.Server == "" {
		return nil
	}
	return outcome.Regressions(c.baseline.Tests, c.other.Tests)
}

// table renders the results as a table in Markdown, with columns as wide as their cells.
func table(comparisons []comparison) string {
	rows := [][]string{
		{"suite", "server", "tests", "passed", "seconds", "peak memory", "with files"},
		{"---", "---", "--:", "--:", "--:", "--:", "--:"},
	}
	totals := map[string]*total{kubeAPIServer: {}, crdServer: {}}
	for _, c := range comparisons {
		for _, r := range []result{c.baseline, c.other} {
			if r.Server == "" {
				continue
			}
			ran, pass := outcome.Count(r.Tests)
			totals[r.Server].add(ran, pass, r)
			rows = append(rows, row(c.name, r.Server, ran, pass, r))
		}
	}
	for _, name := range []string{kubeAPIServer, crdServer} {
		if sum := totals[name]; sum.packages > 1 {
			rows = append(rows, row("all", name, sum.ran, sum.pass, sum.result))
		}
	}
	return markdown(rows)
}

// total adds up results; its memory is the highest.
type total struct {
	result
	packages, ran, pass int
}

func (t *total) add(ran, pass int, r result) {
	t.packages++
	t.ran += ran
	t.pass += pass
	t.Seconds += r.Seconds
	t.Memory = higher(t.Memory, r.Memory)
}

func row(name, server string, ran, pass int, r result) []string {
	return []string{name, server, fmt.Sprint(ran), fmt.Sprint(pass), fmt.Sprintf("%.1f", r.Seconds),
		megabytes(r.Memory.Anonymous), megabytes(r.Memory.Proportional)}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", bytes/1e6) }

func markdown(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for _, cells := range rows {
		for i, cell := range cells {
			fmt.Fprintf(&text, "| %-*s ", widths[i], cell)
		}
		text.WriteString("|\n")
	}
	return text.String()
}

// findings lists what the table does not say: tests that only kube-apiserver passes and binaries that failed (these two
// are failures), processes that were left, and tests that passed when they were repeated.
func findings(comparisons []comparison) (text string, failures int) {
	var list strings.Builder
	for _, c := range comparisons {
		for _, r := range []result{c.baseline, c.other} {
			if r.Failure != "" {
				failures++
				fmt.Fprintf(&list, "%s with %s failed: %s\n", c.name, r.Server, r.Failure)
			}
			if r.Left > 0 {
				fmt.Fprintf(&list, "%s with %s: %d processes were left running\n", c.name, r.Server, r.Left)
			}
			for _, t := range r.Tests {
				if t.Repeated {
					fmt.Fprintf(&list, "%s with %s: passed when it was repeated: %s\n", c.name, r.Server, t.Name)
				}
			}
		}
		for _, t := range c.failures() {
			failures++
			fmt.Fprintf(&list, "%s fails with %s: %s\n%s\n", c.name, crdServer, t.Name, firstLines(t.Message))
		}
	}
	return list.String(), failures
}

// shownLines is how many lines of a failure are shown.
const shownLines = 15

// firstLines returns the beginning of a message, indented.
func firstLines(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	if len(lines) > shownLines {
		lines = append(lines[:shownLines], "...")
	}
	return "    " + strings.Join(lines, "\n    ")
}
