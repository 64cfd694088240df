package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/crd-server/crd-server/test/outcome"
)

// verdict is the comparison of one package with what kube-apiserver does.
type verdict struct {
	pkg string
	// upstream is how many tests pass with kube-apiserver, and here how many pass with crd-server.
	upstream, here int
	// excused are how many fail, or are missing, and have an excuse, by its class.
	excused map[string]int
	// wrong are the others.
	wrong []outcome.Test
	// needless are the excuses of tests that pass.
	needless []excuse
}

// judge compares the results of a package.
func judge(pkg string, tests []outcome.Test, expected map[string]expectation, all excuses) verdict {
	v := verdict{pkg: pkg, excused: map[string]int{}}
	passed, bad := map[string]int{}, map[string]int{}
	for _, t := range leaves(tests) {
		top, _, _ := strings.Cut(t.Name, "/")
		_, known := expected[top].others[t.Name]
		switch {
		case t.State == outcome.Passed:
			passed[top]++
		case t.State == outcome.Skipped && (known || expected[top].passed == 0):
		default:
			bad[top]++
			v.excuse(t, 1, expected[top], all)
		}
	}
	for _, t := range tests {
		if strings.Contains(t.Name, "/") {
			continue
		}
		e := expected[t.Name]
		v.upstream += e.passed
		v.here += passed[t.Name]
		// What fails may have kept others from running, so further ones are only missing if an excuse says so.
		excused := slices.ContainsFunc(all, func(e excuse) bool { return e.pkg == pkg && e.test == t.Name+missing })
		if n := e.passed - passed[t.Name] - bad[t.Name]; n > 0 && (excused || bad[t.Name] == 0) {
			v.excuse(outcome.Test{Name: t.Name + missing, State: outcome.Failed,
				Message: fmt.Sprintf("%d tests passed, and %d with kube-apiserver", passed[t.Name], e.passed)}, n, e, all)
		}
	}
	v.needless = needless(pkg, tests, all)
	return v
}

// missing follows the name of a test in the name of the subtests that it does not have here: often, a test has one for
// each resource of the server.
const missing = "/missing"

// excuse finds the excuse of n tests that have not passed. The class inside is for what kube-apiserver fails too.
func (v *verdict) excuse(t outcome.Test, n int, expected expectation, all excuses) {
	e, excused := all.find(v.pkg, t.Name)
	if excused && e.class == inside && !expected.fails() {
		t.Message = "it passes with kube-apiserver in another process, so its excuse is not true\n" + t.Message
		excused = false
	}
	if excused {
		v.excused[e.class] += n
		return
	}
	v.wrong = append(v.wrong, t)
}

// needless returns the excuses whose tests have run, and pass.
func needless(pkg string, tests []outcome.Test, all excuses) []excuse {
	var found []excuse
	for _, e := range all {
		ran := slices.ContainsFunc(tests, func(t outcome.Test) bool { return e.covers(pkg, t.Name) })
		fails := slices.ContainsFunc(tests, func(t outcome.Test) bool {
			return e.covers(pkg, t.Name) && t.State != outcome.Passed
		})
		if ran && !fails {
			found = append(found, e)
		}
	}
	return found
}

// table renders verdicts as a table in Markdown.
func table(verdicts []verdict) string {
	rows := [][]string{
		{"package", "kube-apiserver", "crd-server", "excused", "wrong"},
		{"---", "--:", "--:", "---", "--:"},
	}
	sum := verdict{pkg: "all", excused: map[string]int{}}
	for _, v := range verdicts {
		rows = append(rows, v.row())
		sum.upstream += v.upstream
		sum.here += v.here
		sum.wrong = append(sum.wrong, v.wrong...)
		for class, n := range v.excused {
			sum.excused[class] += n
		}
	}
	return markdown(append(rows, sum.row()))
}

func (v verdict) row() []string {
	var excused []string
	for _, class := range classes {
		if n := v.excused[class]; n > 0 {
			excused = append(excused, fmt.Sprintf("%d %s", n, class))
		}
	}
	return []string{v.pkg, fmt.Sprint(v.upstream), fmt.Sprint(v.here), strings.Join(excused, ", "),
		fmt.Sprint(len(v.wrong))}
}

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

// findings lists the wrong tests, and the excuses that are not needed.
func findings(verdicts []verdict) (text string, wrong int) {
	var list strings.Builder
	for _, v := range verdicts {
		for _, e := range v.needless {
			fmt.Fprintf(&list, "%s %s passes, so its excuse can go\n", v.pkg, e.test)
		}
		for _, t := range v.wrong {
			wrong++
			fmt.Fprintf(&list, "%s %s is wrong\n%s\n", v.pkg, t.Name, summary(t.Message))
		}
	}
	return list.String(), wrong
}

// shownLines is how many lines of a failure are shown.
const shownLines = 15

// logLine matches what klog prints.
var logLine = regexp.MustCompile(`^\s*(\w+\.go:\d+: )?[IW]\d{4} `)

// summary returns the end of a message without logs, indented.
func summary(message string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(message), "\n"), logLine.MatchString)
	if len(lines) > shownLines {
		lines = append([]string{"..."}, lines[len(lines)-shownLines:]...)
	}
	return "    " + strings.Join(lines, "\n    ")
}

// The lines of the page around the table.
const (
	tableBegins = "<!-- make kubernetes-tests: begin -->\n"
	tableEnds   = "<!-- make kubernetes-tests: end -->\n"
)

// updatePage replaces the table of a page.
func updatePage(path, table string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(content), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no table between %s and %s", path, tableBegins, tableEnds)
	}
	return os.WriteFile(path, []byte(before+tableBegins+table+tableEnds+after), 0o644)
}
